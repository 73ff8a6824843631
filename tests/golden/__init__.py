"""Histories that must not change: recorded before the redesign of the library, and compared to the last digit."""
