"""The modes."""
