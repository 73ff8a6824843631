"""What is logged in one process reaches the loggers of another."""

import logging

from law_ray.driver.messages import Messages, hand_over


def records(*texts, level=logging.INFO):
    return [logging.LogRecord("law_ray.runs.active", level, "", 0, "%s!", (text,), None) for text in texts]


def kept(messages, after=0):
    return [message.text for message in messages.after(after)]


def test_messages_are_kept_for_whoever_asks_later():
    messages = Messages()
    for record in records("one", "two", "three"):
        messages.handle(record)
    assert kept(messages) == ["one!", "two!", "three!"]
    assert kept(messages, messages.after(0)[1].number) == ["three!"]
    assert kept(messages, messages.after(0)[-1].number) == []


def test_messages_of_a_driver_that_restarts_come_after_the_earlier_ones():
    before, after = Messages(), Messages()
    for messages in (before, after):
        messages.handle(*records("hello"))
    assert kept(after, before.after(0)[-1].number) == ["hello!"]


def test_only_what_this_process_listens_to_is_handed_over(caplog):
    messages = Messages()
    for level in (logging.DEBUG, logging.INFO, logging.WARNING):
        messages.handle(*records(logging.getLevelName(level), level=level))
    with caplog.at_level(logging.INFO, "law_ray"):
        hand_over(messages.after(0))
    found = [("law_ray.runs.active", logging.INFO, "INFO!"), ("law_ray.runs.active", logging.WARNING, "WARNING!")]
    assert caplog.record_tuples == found
