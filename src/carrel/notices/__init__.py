"""Notices: news about a task on its way to agents, each as a queued run, and to people, each as a line in a mailbox.

Who is notified of what is decided above. A new notice carries its task and its author as values.
"""

from carrel.notices.model import NewNotice, NoticeType, Notified, Recipient
from carrel.notices.notices import send_notice
from carrel.notices.store import Notice, notices_of

__all__ = ["NewNotice", "Notice", "NoticeType", "Notified", "Recipient", "notices_of", "send_notice"]
