"""The behaviours the product promises, by id: those that are built, and those that are not, with the reason.

What an id means is said by the tests that name it. Whoever builds a behaviour moves its id to BUILT in the same change
as its first test; test_manifest.py fails on an id of BUILT without a test and on a test of anything else.
"""

from collections.abc import Mapping


def ids(text: str) -> frozenset[str]:
    """Return the ids of a text in which they are divided by white space; each may stand there once."""
    listed = text.split()
    twice = {name for name in listed if listed.count(name) > 1}
    if twice:
        raise ValueError(f"listed twice: {', '.join(sorted(twice))}")
    return frozenset(listed)


BUILT = ids(
    """
    P.absent
    P.account.keys P.account.wall
    P.door
    P.engine.two
    P.kill
    P.nomodel
    P.receipt P.receipt.compare P.receipt.true
    P.settings
    P.stop
    P.tool.ask P.tool.once
    P.view.journal
    P.waiting
    S0.agent.before S0.agent.cleanup S0.agent.closed S0.agent.credential S0.agent.key S0.agent.many S0.agent.unknown
    S0.input.history
    S0.instr.capabilities S0.instr.version
    S0.log.instructions S0.log.resolution
    S0.route.base S0.route.base.kept S0.route.continuation S0.route.flag.independent S0.route.flag.sessions
    S0.route.inflight S0.route.precedence S0.route.spelling.task S0.route.task
    S0.send.deterministic S0.send.everyturn S0.send.inline S0.send.layers
    S0.session.address S0.session.create S0.session.fields S0.session.lazy S0.session.lookup S0.session.next
    S0.session.pair.agents S0.session.pair.tasks S0.session.rename S0.session.retention S0.session.reuse
    S0.session.unique
    S0.x.attempts.durable S0.x.backoff.own S0.x.claim S0.x.headofline S0.x.parity S0.x.poison S0.x.reply.identity
    S0.x.restart.auth S0.x.secrets S0.x.tools.once S0.x.tools.rounds
    S1.artifacts
    S1.cancel.queued S1.cancel.terminal S1.cancel.working
    S1.complete
    S1.decline
    S1.dispatch.busy S1.dispatch.fifo S1.dispatch.idle S1.dispatch.next S1.dispatch.parallel S1.dispatch.route
    S1.dispatch.serial S1.dispatch.visible S1.dispatch.waiting
    S1.fail
    S1.generation
    S1.get
    S1.history.length S1.history.queued S1.history.task
    S1.list.artifacts S1.list.filters S1.list.page
    S1.metrics
    S1.push.config S1.push.deliver S1.push.guard
    S1.queue.limit S1.queue.notreject S1.queue.pending
    S1.send.blocking S1.send.continue S1.send.immediate S1.send.task S1.send.validate
    S1.store.backup S1.store.crud S1.store.fields S1.store.survive S1.store.wal
    S1.stream.interrupted S1.stream.send S1.stream.subscribe S1.stream.terminal
    S1.timeout.cancels S1.timeout.default
    S1.ttl.all.ends S1.ttl.default
    S1.wire.card S1.wire.errors S1.wire.versions
    S1.x.bind.run S1.x.cancel.leaves S1.x.claim.race S1.x.context.text S1.x.idempotent S1.x.metadata.merge
    S1.x.order.kept S1.x.owner S1.x.queue.derived S1.x.restart.working S1.x.states.closed S1.x.stream.durable
    S1.x.stuck S1.x.subscribe.verbs
    S2.announce.post S2.announce.skip S2.announce.step
    S2.channel
    S2.history.key S2.history.limit S2.history.raw S2.history.tools
    S2.key.current S2.key.group S2.key.internal S2.key.main S2.key.reserved S2.key.scope.global
    S2.list.active S2.list.kinds S2.list.limit S2.list.messages S2.list.notools S2.list.row S2.list.sandboxed
    S2.list.transcript
    S2.pingpong.max S2.pingpong.skip S2.pingpong.starts
    S2.policy.enforced S2.policy.kind S2.policy.override S2.policy.owner S2.policy.patch S2.policy.rules
    S2.send.announce.besteffort S2.send.context S2.send.error S2.send.forbidden S2.send.nowait S2.send.params
    S2.send.provenance S2.send.serverwait S2.send.timeout S2.send.wait
    S2.spawn.accepted S2.spawn.agent S2.spawn.archive S2.spawn.attachas S2.spawn.attachments.acp
    S2.spawn.attachments.atomic S2.spawn.attachments.base64 S2.spawn.attachments.cleanup S2.spawn.attachments.entry
    S2.spawn.attachments.limits S2.spawn.attachments.names S2.spawn.attachments.receipt S2.spawn.attachments.redacted
    S2.spawn.attachments.switch S2.spawn.attachments.written S2.spawn.cleanup S2.spawn.discovery S2.spawn.key
    S2.spawn.label S2.spawn.mode S2.spawn.mode.session S2.spawn.model S2.spawn.nonest S2.spawn.notools
    S2.spawn.sandbox.guard S2.spawn.sandbox.require S2.spawn.task S2.spawn.thinking S2.spawn.thread S2.spawn.timeout
    S2.subannounce.empty S2.subannounce.form S2.subannounce.posts S2.subannounce.skip S2.subannounce.stats
    S2.visibility.agent S2.visibility.all S2.visibility.clamp S2.visibility.default S2.visibility.everywhere
    S2.visibility.self S2.visibility.tree
    S2.x.agentid.strict S2.x.children.limit S2.x.clamp.narrow S2.x.cron.fresh S2.x.cron.noloop S2.x.history.caps
    S2.x.kind.prefixed
    S2.x.lane.recovers S2.x.list.told S2.x.nodeadlock S2.x.noreply.stops S2.x.queue.nodrop S2.x.reply.once
    S2.x.reply.own S2.x.reset.generation S2.x.responses.continue S2.x.responses.terminal
    S2.x.result.gone S2.x.result.kept S2.x.result.nochannel S2.x.stop.cutoff
    S3.id.delete S3.id.delivery S3.id.firstcommand S3.id.identity S3.id.lanes S3.id.legacy
    S3.id.newkey S3.id.pointer S3.id.resolve.first S3.id.sessionid S3.id.telegram
    S3.x.command.done S3.x.message.kept S3.x.schedule.missed S3.x.tabs
    S4.api.token
    S4.x.feed.durable S4.x.feed.slow S4.x.order.stable S4.x.token.query
    """
)

REASONS: Mapping[str, frozenset[str]] = {
    "commands act on the chat's own session, but there is no auto mode to act on yet": ids("S3.id.command.context"),
    "tasks of the board and their lanes' ends are not built yet": ids(
        """
        S0.close.done S0.close.archived S0.close.transaction S0.close.transition.only S0.close.queued
        S0.close.running
        S0.reopen.noop S0.reopen.fresh S0.reopen.rule
        S0.done.late
        S0.archived.never
        S0.work.transitions S0.work.needs S0.work.agent.statuses S0.work.assign S0.work.autoadvance
        S0.work.flags S0.work.sizes
        S0.x.archive.quiet S0.x.done.rule S0.x.create.status S0.x.last.message
        """
    ),
    "the standing instructions and the compact input are not complete yet": ids(
        """
        S0.instr.scope
        S0.input.anchors S0.input.compact S0.input.injection
        S0.x.silence S0.x.base.growth
        """
    ),
    "the tools for tasks and their histories are not built yet": ids(
        """
        S0.history.required S0.history.limits S0.history.shape S0.history.order S0.history.available
        S0.history.account S0.history.agent S0.history.none.global
        S0.load.compat
        S0.isolation.mismatch S0.isolation.thread S0.isolation.overview
        S0.x.policy.first
        """
    ),
    "the orchestrator's chat is not built yet": ids(
        """
        S0.orch.chat S0.orch.context S0.orch.overview S0.orch.instructions S0.orch.fanout S0.orch.tools
        S0.x.stop.chat
        """
    ),
    "notifications and heartbeats are not built yet": ids(
        """
        S0.fanout.subscribe S0.fanout.mention S0.fanout.thread S0.fanout.assign S0.fanout.status S0.fanout.run
        S0.fanout.coalesce S0.fanout.request
        S0.heartbeat
        S0.x.coalesce.inflight S0.x.stale.mention S0.x.mentions.none S0.x.loop S0.x.request.told
        """
    ),
    "the log lines and the manual are not written yet": ids(
        """
        S0.docs
        """
    ),
    "no run can be linked to a Task, a plan or an objective yet": ids(
        """
        S1.dispatch.link
        S1.history.plan S1.history.objective S1.history.unlinked
        """
    ),
    "objectives and plans over A2A are not built yet": ids(
        """
        S1.opt.card S1.opt.activate S1.opt.objective S1.opt.plan S1.opt.plantask S1.opt.objective.moves
        S1.opt.plan.moves S1.opt.methods S1.opt.cascade S1.opt.cancel S1.opt.run S1.opt.metadata S1.opt.answer
        S1.opt.hint
        S1.x.opt.limits S1.x.opt.whitelist S1.x.opt.graph S1.x.opt.codes S1.x.opt.owner
        """
    ),
    "plan mode is not built yet": ids(
        """
        S3.plan.scope S3.plan.isolated S3.plan.one S3.plan.finalize S3.plan.context S3.plan.tools
        S3.plan.api.get S3.plan.api.enable S3.plan.api.disable S3.plan.cmd.on S3.plan.cmd.off S3.plan.cmd.status
        S3.plan.restart
        S3.x.plan.steps S3.x.addtasks.atomic
        """
    ),
    "auto mode is not built yet": ids(
        """
        S3.auto.kinds S3.auto.context S3.auto.carry S3.auto.constants S3.auto.mirror S3.auto.on.task
        S3.auto.on.goal S3.auto.off S3.auto.off.id S3.auto.status S3.auto.registry S3.auto.end
        S3.auto.transcript S3.auto.tick.address S3.auto.norestart S3.auto.commands.kept
        S3.edge.switch S3.edge.autooff S3.edge.pointer S3.edge.disconnect
        S3.x.auto.own S3.x.tick.parallel S3.x.timeout.real S3.x.attempt.loop
        """
    ),
    "scoped memory is not built yet": ids(
        """
        S3.scope.forms S3.scope.chain.goal S3.scope.chain.task S3.scope.chain.plain S3.scope.bound
        S3.scope.identity S3.scope.persist.task S3.scope.persist.goal S3.scope.persist.session
        S3.scope.persist.global S3.scope.legacy S3.scope.overlay
        S3.inv.1 S3.inv.2 S3.inv.3 S3.inv.4 S3.inv.5 S3.inv.6
        S3.x.scope.closed S3.x.task.bound S3.x.promotion.explicit S3.x.tools.scoped S3.x.goal.noleak S3.x.quota
        """
    ),
    "the dashboard's sessions and their chat frames are not built yet": ids(
        """
        S3.ui.sessionid S3.ui.filter S3.ui.querykey S3.ui.switch S3.ui.label
        """
    ),
    "the figures and log fields of plan, auto and memory wait for these": ids(
        """
        S3.metric.plan.enabled S3.metric.plan.active S3.metric.auto.started S3.metric.auto.completed
        S3.metric.scope S3.metric.blocked S3.metric.mismatch
        S3.log.fields
        S3.accept
        S3.verify
        """
    ),
    "the board is not built yet": ids(
        """
        S4.flow.hear S4.flow.event S4.flow.classify S4.flow.inject S4.flow.one.path S4.flow.off
        S4.flow.besteffort
        S4.alloc.lineage S4.alloc.space S4.alloc.task.lock S4.alloc.topic.lock S4.alloc.subagent
        S4.alloc.nofallback S4.alloc.continuity S4.alloc.background
        S4.follow.cadence S4.follow.progress
        S4.clean.markers S4.clean.loop S4.clean.artifact S4.clean.system.tags
        S4.filter.control S4.filter.scaffold S4.filter.cron S4.filter.tool.anchored S4.filter.tool.unanchored
        S4.filter.history S4.filter.ignored
        S4.key.board S4.key.provider S4.key.channel S4.key.foreign S4.key.nodouble S4.key.normalise
        S4.tool.search S4.tool.context S4.tool.get S4.tool.note S4.tool.update S4.tool.strict S4.tool.offered
        S4.tool.scope
        S4.digest.fields S4.digest.quiet S4.digest.interval S4.digest.fallback S4.digest.shown
        S4.x.note.reach S4.x.recall.window S4.x.budget.sections S4.x.tag.colon S4.x.tag.rehome S4.x.read.pure
        S4.x.default.noscope S4.x.routing.live S4.x.second.reply S4.x.dedupe.person S4.x.writer S4.x.send.atomic
        S4.x.changes.exact S4.x.score.honest S4.x.working.recent S4.x.follow.nolane S4.x.classifier.creation
        S4.x.health.injection S4.x.status.spelling
        """
    ),
    "the context block is not built yet": ids(
        """
        S4.context.params S4.context.output S4.context.maxchars S4.context.injected.max S4.context.nonempty
        S4.context.mode.default S4.context.cheap S4.context.full S4.context.patient S4.context.auto.signal
        S4.context.auto.low S4.context.auto.board S4.context.layers S4.context.data S4.context.place
        S4.context.working.topics S4.context.working.tasks S4.context.routing S4.context.timeline
        S4.context.pending S4.context.scoped S4.context.lane.task S4.context.lane.session
        S4.context.lane.sandbox S4.context.bounded S4.context.cache
        """
    ),
    "spaces are not built yet": ids(
        """
        S4.space.explicit S4.space.infer S4.space.infer.where S4.space.unresolved S4.space.allowed S4.space.seed
        S4.space.intersect S4.space.allowed.only S4.space.topic S4.space.tags S4.space.derive S4.space.create
        S4.space.task S4.space.log
        """
    ),
    "search is not built yet": ids(
        """
        S4.search.hybrid S4.search.params S4.search.scope S4.search.notes S4.search.tooltraces S4.search.busy
        S4.search.busy.context S4.search.stable S4.search.tuning S4.search.index
        """
    ),
    "the board's endpoints and the bridge's hooks are not built yet": ids(
        """
        S4.api.log S4.api.ingest
        S4.bridge.knobs S4.bridge.queue S4.bridge.autotopic S4.bridge.hooks
        S4.audit
        S4.accept
        """
    ),
}

DEFERRED = {name: reason for reason, names in REASONS.items() for name in names}
