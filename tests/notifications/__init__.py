"""Tests of mailboxes."""
