"""Scripts for those who work on the project; the wheel does not contain them."""
