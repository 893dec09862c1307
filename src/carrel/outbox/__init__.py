"""What leaves the server: webhooks that are told of runs, and posts to channels. Leased, retried, durable.

Writing down what is to leave happens here; the surfaces that speak a protocol do the sending.
"""

from carrel.outbox.channels import Channel, ChannelFault, ChannelMessage, Channels, channel_of
from carrel.outbox.observers import observe_runs
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
    CARRIED,
    part_sent,
    pass_over,
    post_failed,
    post_words,
    postable_run,
    prune_posts,
    take_posts,
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
from carrel.outbox.webhooks import crowded_hosts, keep_webhook, take_webhooks, webhook_failed, webhook_told

__all__ = [
    "CARRIED",
    "POSTS",
    "WEBHOOKS",
    "Channel",
    "ChannelFault",
    "ChannelMessage",
    "Channels",
    "Post",
    "Webhook",
    "WebhookAddress",
    "channel_of",
    "claim_post",
    "crowded_hosts",
    "delete_webhook",
    "keep_reply_address",
    "keep_webhook",
    "next_post_due",
    "next_webhook_due",
    "observe_runs",
    "part_sent",
    "pass_over",
    "post_by_id",
    "post_failed",
    "post_words",
    "postable_run",
    "prune_posts",
    "release_posts",
    "release_webhooks",
    "reply_address_of",
    "take_posts",
    "take_webhooks",
    "waiting_at",
    "webhook_by_id",
    "webhook_failed",
    "webhook_told",
    "webhooks_of_run",
]
