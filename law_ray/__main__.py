"""The command `law-ray`, which is also `python -m law_ray`."""

import signal

# While Python imports, it would answer Ctrl-C with a traceback. The default action ends it without one.
_handler = signal.getsignal(signal.SIGINT)
if _handler is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from law_ray.cli import main  # noqa: E402

signal.signal(signal.SIGINT, _handler)

if __name__ == "__main__":
    main()
