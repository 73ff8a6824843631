"""The errors a user meets. Each message is one line that names the culprit and the remedy."""


class InputError(ValueError):
    """Bad input; the command line prints the message and exits with 2."""


class UsedUpError(InputError):
    """Fewer permutations are left to propose than were asked for."""


class Interrupted(KeyboardInterrupt):
    """The user stopped the run; the message says how to continue it, and the command line exits with 130."""


class RunError(RuntimeError):
    """The run itself failed; the command line prints the message and exits with 1."""


class OnlyFailedError(RunError):
    """Whole rounds of evaluations failed, which ends the run."""
