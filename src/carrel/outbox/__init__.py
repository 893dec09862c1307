"""The outbox: webhooks about runs and posts to channels, stored durably, leased and retried.

This room stores what to send; the surfaces do the sending.
"""

from carrel.outbox.post_store import (
    POSTS,
    Post,
    claim_post,
    keep_reply_address,
    next_post_due,
    post_by_id,
    release_posts,
    reply_address_of,
    waiting_at,
)
from carrel.outbox.posts import (
    POSTED_CHANNELS,
    ChannelFault,
    ChannelMessage,
    Channels,
    channel_of,
    drop_post,
    observe_runs,
    part_sent,
    post_failed,
    post_text,
    postable_run,
    prune_posts,
    take_posts,
    with_speaker,
)
from carrel.outbox.webhook_store import (
    WEBHOOKS,
    Webhook,
    WebhookAddress,
    delete_webhook,
    next_webhook_due,
    release_webhooks,
    webhook_by_id,
    webhooks_of_run,
)
from carrel.outbox.webhooks import saturated_hosts, save_webhook, take_webhooks, webhook_failed, webhook_sent

__all__ = [
    "POSTED_CHANNELS", "POSTS", "WEBHOOKS", "ChannelFault", "ChannelMessage", "Channels", "Post", "Webhook",
    "WebhookAddress", "channel_of", "claim_post", "delete_webhook", "drop_post", "keep_reply_address", "next_post_due",
    "next_webhook_due", "observe_runs", "part_sent", "post_by_id", "post_failed", "post_text", "postable_run",
    "prune_posts", "release_posts", "release_webhooks", "reply_address_of", "saturated_hosts", "save_webhook",
    "take_posts", "take_webhooks", "waiting_at", "webhook_by_id", "webhook_failed", "webhook_sent", "webhooks_of_run",
    "with_speaker",
]  # fmt: skip
