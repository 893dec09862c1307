"""Notices: news about a task on its way to agents, each as a queued run, and to people, each as a line in a mailbox.

Who is notified of what is decided above. News carries what is said of its task and its author as values.
"""

from carrel.notices.model import News, NoticeType, Notified, Recipient
from carrel.notices.notices import send_news
from carrel.notices.store import Notice, notices_of

__all__ = ["News", "Notice", "NoticeType", "Notified", "Recipient", "notices_of", "send_news"]
