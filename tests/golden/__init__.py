"""Histories that may not change unnoticed: recorded once, and compared to the last digit."""
