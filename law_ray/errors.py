"""The errors a user meets. Each message is one line that names the culprit and the remedy."""


class InputError(ValueError):
    """Bad input; the command line prints the message and exits with 2."""


class UsedUpError(InputError):
    """No permutation is left that was not proposed."""


class RunError(RuntimeError):
    """The run itself failed; the command line prints the message and exits with 1."""
