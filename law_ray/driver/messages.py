"""What the driver logs reaches the loggers of the client, which is another process."""

import itertools
import logging
import time
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

LOGGER = "law_ray"
"""The logger of the library, of which all others of it are children."""
MAX_KEPT = 1_000
"""Messages that a driver keeps for a client that has not asked for them yet (heuristic)."""


class Message(NamedTuple):
    """A record of the driver's log."""

    number: int
    """larger than that of any earlier message, also of a driver that died"""
    logger: str
    level: int
    text: str


class Messages(logging.Handler):
    """Keeps the last messages of a driver."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: deque[Message] = deque(maxlen=MAX_KEPT)
        self._numbers = itertools.count(time.time_ns())

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self._kept.append(Message(next(self._numbers), record.name, record.levelno, record.getMessage()))

    def listen(self) -> None:
        """Keep, from now on, all that the library logs in this process, and give it to no other handler."""
        logger = logging.getLogger(LOGGER)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(self)

    def after(self, number: int) -> list[Message]:
        """Return the messages that came after the one with this number."""
        return [message for message in list(self._kept) if message.number > number]


def hand_over(messages: Iterable[Message]) -> None:
    """Give the messages of a driver to the loggers of this process."""
    for message in messages:
        logger = logging.getLogger(message.logger)
        if logger.isEnabledFor(message.level):
            logger.handle(logger.makeRecord(message.logger, message.level, "driver", 0, message.text, (), None))
