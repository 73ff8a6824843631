"""What does each section of a run's page show? One module a section, with a function `section(view)`."""
