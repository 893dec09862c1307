// Made by `./dev dashboard types`; do not edit.

export interface paths {
    "/api/account": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the caller's account and its settings. */
        get: operations["show_account"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Rename the account or merge changes into its settings. */
        patch: operations["update_account"];
        trace?: never;
    };
    "/api/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List every account of this server. */
        get: operations["list_accounts"];
        put?: never;
        /** Create an account with its agent `main` and its first owner token. */
        post: operations["create_account"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the account's agents, oldest first; an agent sees only itself. */
        get: operations["list_agents"];
        put?: never;
        /** Create an agent. */
        post: operations["create_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an agent by its id, its slug or a former slug. */
        get: operations["show_agent"];
        put?: never;
        post?: never;
        /** Disable an agent, close its sessions and cancel its queued runs. */
        delete: operations["delete_agent"];
        options?: never;
        head?: never;
        /** Change an agent; fields that are left out stay as they are. */
        patch: operations["update_agent"];
        trace?: never;
    };
    "/api/agents/{id}/prompt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the standing instructions and tools that an agent is sent in one kind of run. */
        get: operations["preview_agent_prompt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/artifacts/{id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the content of an artifact, for download only. */
        get: operations["download_artifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/attachments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a file, to be named in the message or entry that it belongs to; without one it is deleted after a day. */
        post: operations["upload_attachment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/attachments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the content of a file, for download only. */
        get: operations["download_attachment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the caller that the token or cookie identifies. */
        get: operations["show_me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange a token for a session cookie. */
        post: operations["begin_session"];
        /** Sign out: the cookie is no longer valid. */
        delete: operations["end_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auto/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the auto runs of a session, newest first. */
        get: operations["list_auto_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auto/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an auto run. */
        get: operations["show_auto_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auto/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let a session's agent work by itself, one tick after another, until its task or goal is done. */
        post: operations["start_auto_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auto/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop an auto run, or all of a session; one whose tick is working stops with it. */
        post: operations["stop_auto_runs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/budgets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the budgets as they stand, the fullest first. */
        get: operations["list_budgets"];
        put?: never;
        /** Set a budget, replacing the one of that name; runs that wait for it check again whether they may go on. */
        post: operations["make_budget"];
        /** Remove a budget; one of the same name in the settings then applies again. */
        delete: operations["delete_budget"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/budgets/allow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Allow a budget's whole amount once more until it resets; runs that wait for it go on. */
        post: operations["allow_budget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what has changed since a sequence number; `reset` tells the client to start over. */
        get: operations["list_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a message to a chat, answer a question that was asked in it, or run a command. */
        post: operations["post_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/classifier/pending": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the entries that are not sorted yet, newest first. */
        get: operations["list_pending"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/classifier/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sort an entry again, with its bundle or with all that follows it in its session. */
        post: operations["replay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/classifier/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sort what is pending now. */
        post: operations["run_classifier"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/classifier/session-routing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get where the messages of a session went. */
        get: operations["show_routing"];
        put?: never;
        /** Say where messages of a session belong; the next short message goes there. */
        post: operations["send_routing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/classifier/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the progress of the classifier. */
        get: operations["show_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the slash commands of chats. */
        get: operations["list_commands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the context block of a session, with every line explained. */
        get: operations["show_context"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/digests/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Renew digests now, however old they are. */
        post: operations["run_digests"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/goals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the goals of a session, or with `all` of all sessions that the caller may see, newest first. */
        get: operations["list_goals"];
        put?: never;
        /** Create a goal of a session. */
        post: operations["create_goal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/goals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a goal with its plans and tasks. */
        get: operations["show_goal"];
        put?: never;
        post?: never;
        /** Delete a goal with its plans and its memory; its tasks stay. */
        delete: operations["remove_goal"];
        options?: never;
        head?: never;
        /** Change a goal; cancelling it skips its plans that wait, fails those that work, and cancels their runs. */
        patch: operations["patch_goal"];
        trace?: never;
    };
    "/api/goals/{id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Complete a goal; the rest of its plans is no longer worked on. */
        post: operations["finish_goal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the state of the server and of the lanes that the caller may see. */
        get: operations["show_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/agent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Hand a message to an agent, in a session of its own unless the settings let programs name one. */
        post: operations["hook_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/claude": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Record an event of Claude Code, as its hooks send it; a prompt is answered with the context of its session. */
        post: operations["hook_claude"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List this account's webhooks from the settings, with their state. */
        get: operations["list_webhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/in/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what was delivered to webhooks and what became of it, the newest first. */
        get: operations["list_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/in/deliveries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Return one delivery with its body, while that is kept. */
        get: operations["get_delivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/in/deliveries/{id}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Carry out a failed or ignored delivery again, with the current settings; nothing is done twice. */
        post: operations["redeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/in/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Receive what another program posts to a webhook of the settings, signed with its secret. */
        post: operations["receive_delivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/in/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Show what a webhook would do with a delivery, without doing it. */
        post: operations["try_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/wake": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Wake an agent in its main lane with a text. */
        post: operations["hook_wake"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ingest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Accept one or more entries, all or none, and store them soon after, in their order. */
        post: operations["ingest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the entries that the caller may see, newest first. */
        get: operations["list_log"];
        put?: never;
        /** Store an entry; one that was sent before is answered with the stored one. */
        post: operations["send_log"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/log/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an entry. */
        get: operations["show_log"];
        put?: never;
        post?: never;
        /** Delete an entry. */
        delete: operations["remove_log"];
        options?: never;
        head?: never;
        /** Change what an entry says, or where it belongs. */
        patch: operations["patch_log"];
        trace?: never;
    };
    "/api/mcp/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the MCP servers that agents of this account may use, with the tools that they offered last. */
        get: operations["list_mcp_servers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/mcp/servers/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a server unless it runs, list its tools again, and return its state. */
        post: operations["test_mcp_server"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the memories of a scope, or of a session with its goal and task, newest first. */
        get: operations["list_memory"];
        put?: never;
        /** Keep a memory in a session, a goal or a task; `global` is reached by promoting one. */
        post: operations["keep_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find the memories of a session, its goal and its task by words, best first. */
        get: operations["search_memory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Forget a memory, global ones included. */
        delete: operations["forget_memory"];
        options?: never;
        head?: never;
        /** Change a memory that is not global. */
        patch: operations["patch_memory"];
        trace?: never;
    };
    "/api/memory/{id}/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let every session of the account know a memory. */
        post: operations["promote_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory/{id}/reads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the newest runs that were shown a memory, of sessions that the caller may see. */
        get: operations["list_reads"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the metrics by their dotted names. */
        get: operations["show_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/metrics/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the metrics of the last minutes, one point a minute. */
        get: operations["show_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models/connect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Write a model server into the settings as a gateway and take it up; a key is kept in a file beside the data. */
        post: operations["connect_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models/probe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask a model server what it speaks and which models it has, without calling a model. */
        post: operations["probe_model_server"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the model servers that can be connected by name. */
        get: operations["list_model_servers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the notes that the caller may see, newest first. */
        get: operations["list_notes"];
        put?: never;
        /** Store a note. */
        post: operations["send_note"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the caller's notifications, newest first. */
        get: operations["list_notifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/notifications/read-all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Mark all of the caller's notifications as read. */
        post: operations["mark_all_as_read"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/notifications/{id}/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Mark a notification as read. */
        post: operations["mark_as_read"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get this document. */
        get: operations["show_document"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/orchestrator-chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Get the task that is the account's orchestrator chat; the first call makes it. */
        post: operations["open_orchestrator_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the plan mode of a session, and its newest plans. */
        get: operations["show_plans"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plans/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Switch plan mode off in a session, and cancel a plan that is still being written. */
        post: operations["disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plans/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Switch plan mode on in a session; one that is in plan mode stays as it is. */
        post: operations["enable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plans/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a plan of a session, with its tasks. */
        get: operations["show_plan"];
        /** Set the content of a plan that was not approved yet. */
        put: operations["write"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plans/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Approve a plan that is ready: its tasks begin, in their order; a session that worked on it leaves plan mode. */
        post: operations["approve_one"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plans/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a plan, with the runs of its tasks. */
        post: operations["cancel_one"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/plans/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go on with a plan that failed or is blocked: what failed begins again. */
        post: operations["resume_one"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/reindex": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Rebuild the search index, or a part of it, while it goes on answering. */
        post: operations["reindex"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the runs that the caller may see, newest first. */
        get: operations["list_runs"];
        put?: never;
        /** Send a message to an agent; it is stored before this returns, and its run starts when the lane is free. */
        post: operations["start_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a run. */
        get: operations["read_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/advance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move a queued run one place up in the queue of its session. */
        post: operations["advance_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/allow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume a run that is held because its session does nothing new; what it did before no longer counts. */
        post: operations["allow_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/announce": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Try again to deliver a result that could not be delivered. */
        post: operations["announce_again"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer a waiting run; it continues in its lane. */
        post: operations["answer_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what the agent of a run added to it. */
        get: operations["list_artifacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a run; a running one gets a few seconds to stop. */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get exactly what the agent was shown, step by step. */
        get: operations["read_receipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/receipt/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Compare what two runs were shown. */
        get: operations["compare_with"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a step of a run again in a new run, to another model if wanted; no tool takes effect. */
        post: operations["replay_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a failed run's message again, as a new run in the same lane. */
        post: operations["retry_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/steer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a message into a run that is at work: it is heard at the next step, or afterwards if the run ends first. */
        post: operations["steer_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/wait": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Wait until a run has ended or is waiting, at most for the given time. */
        get: operations["wait_for_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain why a run is in its state, and what can be done about it. */
        get: operations["why_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the schedules of a session, or of all sessions that the caller may see, oldest first. */
        get: operations["list_schedules"];
        put?: never;
        /** Schedule a message, or work on a goal or task, in a session by a cron expression. */
        post: operations["create_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a schedule: when it fires next, and how its last run ended. */
        get: operations["show_schedule"];
        put?: never;
        post?: never;
        /** Delete a schedule; the messages it sent stay. */
        delete: operations["delete_schedule"];
        options?: never;
        head?: never;
        /** Change a schedule; a new expression or time zone, and enabling it, compute the next time from now. */
        patch: operations["patch_schedule"];
        trace?: never;
    };
    "/api/schedules/{id}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Fire a schedule now; its next time stays as it was. */
        post: operations["run_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Search topics, tasks, entries and notes by words and by meaning, within what the caller may see. */
        get: operations["search_board"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the sessions that the caller may see, most recently used first. */
        get: operations["list_sessions"];
        put?: never;
        /** Create a chat with an agent; it becomes the active session of a client that names itself. */
        post: operations["make_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/active": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the active session of a client; if there is none, a new key that its first message will create. */
        get: operations["read_active"];
        put?: never;
        /** Make a session the active one of a client. */
        post: operations["choose_active"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/recent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the caller's latest chats on a channel, newest first. */
        get: operations["read_recent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a session: the generation that is named, else the open one, else the newest. */
        get: operations["read_session"];
        put?: never;
        post?: never;
        /** Cancel a session's runs and delete it with its transcript; clients where it was active get another one. */
        delete: operations["delete_session"];
        options?: never;
        head?: never;
        /** Change a session. */
        patch: operations["patch_session"];
        trace?: never;
    };
    "/api/sessions/{key}/access": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get what a session may read: the sessions its agent sees from there, and the calls that rules refused. */
        get: operations["read_access"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Archive a session and close its generation; its transcript is kept. */
        post: operations["archive_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a private chat with the same agent that starts with what the caller may read, at most up to an entry. */
        post: operations["fork_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the stored generations of a session, newest first. */
        get: operations["read_generations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the transcript of a generation: its newest messages, oldest first. */
        get: operations["read_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the running run of a session and its queue, in order. */
        get: operations["read_queue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Close the open generation; the next message opens a new one. */
        post: operations["reset_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a message to a session; with timeoutSeconds, wait that long for the reply. */
        post: operations["send_to_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel all runs of a session and of the sessions spawned from it. */
        post: operations["stop_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/unarchive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Bring back an archived session; it goes on in the same generation, unless that one is closed for good. */
        post: operations["unarchive_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the settings of this server and where each comes from. */
        get: operations["show_settings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/settings/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Read the settings again and take up what needs no restart; if they are wrong, nothing changes. */
        post: operations["reload_settings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/spaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the spaces that the caller may see, oldest first. */
        get: operations["list_spaces"];
        put?: never;
        /** Make a space and connect it with the others; an existing one is changed. */
        post: operations["create_space"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/spaces/allowed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what is visible from a space, itself first. */
        get: operations["read_allowed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/spaces/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove a space; everything in it moves to the default space. */
        delete: operations["delete_space"];
        options?: never;
        head?: never;
        /** Change a space; its connections stay as they are. */
        patch: operations["update_space"];
        trace?: never;
    };
    "/api/spaces/{id}/connectivity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Set which spaces are visible from one. */
        patch: operations["update_connectivity"];
        trace?: never;
    };
    "/api/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Stream events as they happen; with a cursor, missed events come first. */
        get: operations["follow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tasks that the caller may read, newest first, or in the order of their columns. */
        get: operations["list_all_tasks"];
        put?: never;
        /** Create a task; its assignees are notified. */
        post: operations["create_new_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/reorder": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put tasks into an order, by their places on the board. */
        post: operations["reorder_board"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a task; `orchestrator-chat` is the account's orchestrator chat. */
        get: operations["read_task"];
        put?: never;
        post?: never;
        /** Archive a task: it can still be read, but nobody works on it any more. */
        delete: operations["delete_task"];
        options?: never;
        head?: never;
        /** Change a task; a new status is reached along the shortest path of legal moves. */
        patch: operations["patch_task"];
        trace?: never;
    };
    "/api/tasks/{id}/assign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Assign agents and people to a task, or take them off it; who is new is notified. */
        post: operations["assign_to_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a task with its newest messages and everything that was done to it. */
        get: operations["read_task_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Write to a task's thread; everyone whom it concerns is notified in the same transaction. */
        post: operations["post_to_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/reopen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move a task that is done back to review; only people may. */
        post: operations["reopen_done_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/seen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Record how far the caller has read a task's thread; a mark never goes back. */
        post: operations["mark_thread_read"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the sessions in which agents work on a task: every stored generation of those the caller may see. */
        get: operations["list_task_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move a task one step; a task that is done or archived closes its sessions. */
        post: operations["set_task_status"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel every run of a task and block it; only people may. */
        post: operations["stop_all_of_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/thread": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the newest messages of a task's thread, who has read it, and which agents are working on an answer. */
        get: operations["read_task_thread"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tasks/{id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain why a task is not moving, and what can be done about it. */
        get: operations["why_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the valid tokens of the account, oldest first. */
        get: operations["list_tokens"];
        put?: never;
        /** Create a token; its secret is shown only once. */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a token. */
        delete: operations["delete_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/topics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the topics that the caller may see, in the order of the board. */
        get: operations["list_all_topics"];
        put?: never;
        /** Make a topic, or change the one that has its id. */
        post: operations["create_topic"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/topics/reorder": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put topics into an order, keeping their places among all others. */
        post: operations["reorder_all_topics"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/topics/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a topic. */
        get: operations["read_topic"];
        put?: never;
        post?: never;
        /** Remove a topic; its tasks and entries stay, without one. */
        delete: operations["delete_topic"];
        options?: never;
        head?: never;
        /** Change a topic; when it moves to another space, its tasks and entries move with it. */
        patch: operations["update_topic"];
        trace?: never;
    };
    "/api/topics/{id}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Merge topics of the same space into this one: their entries move, and they are gone. */
        post: operations["merge_into_topic"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/topics/{id}/split": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move entries of a topic into a new one; the entries of an item of `mergedFrom` undo that merge. */
        post: operations["split_from_topic"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/topics/{id}/thread": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the newest messages of a topic. */
        get: operations["read_topic_thread"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sum up what runs used: tokens, time and cost, by day, agent, model, task or session, or several of them. */
        get: operations["read_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the users of the account. */
        get: operations["list_users"];
        put?: never;
        /** Create a user; their token is created separately. */
        post: operations["create_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a user and all their tokens. */
        delete: operations["delete_user"];
        options?: never;
        head?: never;
        /** Change a user. */
        patch: operations["update_user"];
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AccountChange
         * @description Changes of the account.
         */
        AccountChange: {
            name?: string;
            settings?: components["schemas"]["AccountSettings"];
        };
        /** AccountPage */
        AccountPage: {
            accounts: components["schemas"]["AccountShape"][];
            nextCursor: string | null;
        };
        /**
         * AccountSettings
         * @description Settings of an account; merged key by key, null clears.
         */
        AccountSettings: {
            defaultAgentId?: string | null;
            orchestratorAgentId?: string | null;
            orchestratorChatTaskId?: string | null;
            briefing?: string | null;
            recall?: ("own" | "space") | null;
            agentDefaults?: components["schemas"]["AgentDefaults"] | null;
            notificationPreferences?: {
                [key: string]: boolean | null;
            } | null;
        };
        /**
         * AccountShape
         * @description An account.
         */
        AccountShape: {
            id: string;
            name: string;
            slug: string;
            settings: Record<string, never>;
            createdAt: string | null;
        };
        /**
         * ActiveChoice
         * @description The session to make active.
         */
        ActiveChoice: {
            /**
             * @default web
             * @enum {unknown}
             */
            channelType?: "cli" | "telegram" | "web";
            clientInstanceId: string;
            sessionId: string;
        };
        /**
         * ActiveSession
         * @description The active session of a client, and how it was found.
         */
        ActiveSession: {
            sessionId: string;
            sessionKey: string;
            /** @enum {unknown} */
            source: "default" | "pointer" | "repaired";
        };
        /**
         * Activity
         * @description A change of a task.
         */
        Activity: {
            id: string;
            seq: number;
            /** @enum {unknown} */
            type: "assigned" | "created" | "message" | "moved" | "run" | "session" | "unassigned" | "updated";
            actorKind: string;
            actorId: string;
            summary: string;
            data: Record<string, never>;
            createdAt: string;
        };
        /**
         * Actor
         * @description The caller.
         */
        Actor: {
            /** @enum {unknown} */
            kind: "agent" | "client" | "owner" | "run" | "system" | "user";
            id: string;
            name: string;
            agentId?: string;
        };
        /**
         * AgentDefaults
         * @description Defaults of every agent of the account.
         */
        AgentDefaults: {
            behaviorFlags?: components["schemas"]["BehaviorPatch"] | null;
        };
        /** AgentPage */
        AgentPage: {
            agents: components["schemas"]["AgentShape"][];
            nextCursor: string | null;
        };
        /**
         * AgentPatch
         * @description Changes of an agent; objects are merged key by key.
         */
        AgentPatch: {
            name?: string;
            slug?: string;
            enabled?: boolean;
            description?: string;
            gateway?: string;
            model?: string;
            thinking?: ("high" | "low" | "medium" | "minimal" | "off") | null;
            concurrency?: number | null;
            behaviorFlags?: components["schemas"]["BehaviorPatch"];
            spaceIds?: string[];
            tools?: components["schemas"]["ToolsPatch"];
            subagents?: components["schemas"]["SubagentsPatch"];
            mcp?: string[];
            /** @enum {unknown} */
            sandbox?: "off" | "on";
            /** @enum {unknown} */
            runtime?: "acp" | "subagent";
            visibility?: ("agent" | "all" | "self" | "tree") | null;
            recall?: ("own" | "space") | null;
            instructionsExtra?: string;
            workspace?: string;
            heartbeatMinutes?: number;
        };
        /**
         * AgentShape
         * @description An agent.
         */
        AgentShape: {
            id: string;
            slug: string;
            name: string;
            aliases: string[];
            description: string;
            enabled: boolean;
            gateway: string;
            model: string;
            thinking: ("high" | "low" | "medium" | "minimal" | "off") | null;
            concurrency: number | null;
            behaviorFlags: components["schemas"]["BehaviorFlags"];
            spaceIds: string[];
            tools: components["schemas"]["ToolRules"];
            subagents: components["schemas"]["SubagentRules"];
            mcp: string[];
            /** @enum {unknown} */
            sandbox: "off" | "on";
            /** @enum {unknown} */
            runtime: "acp" | "subagent";
            visibility: ("agent" | "all" | "self" | "tree") | null;
            recall: ("own" | "space") | null;
            instructionsExtra: string;
            workspace: string;
            heartbeatMinutes: number;
            sessionKey: string;
            /** @enum {unknown} */
            status: "busy" | "disabled" | "idle";
            lastContextInjectedAt: string | null;
            createdAt: string | null;
            updatedAt: string | null;
        };
        /**
         * AllowBody
         * @description Which budget to allow once more; if it is one for each agent, task or session, also for which of them.
         */
        AllowBody: {
            name: string;
            /** @default null */
            subject?: string | null;
        };
        /**
         * AllowedSpaces
         * @description What is visible from a space, itself first.
         */
        AllowedSpaces: {
            spaceId: string;
            allowedSpaceIds: string[];
        };
        /**
         * AmountsShape
         * @description An amount of each; null means no limit.
         */
        AmountsShape: {
            tokens: number | null;
            usd: number | null;
            runs: number | null;
        };
        /**
         * Announced
         * @description How a result was delivered to its requester.
         */
        Announced: {
            /**
             * @default none
             * @enum {unknown}
             */
            state?: "delivered" | "none" | "pending" | "skipped" | "undelivered";
            /** @default 0 */
            attempts?: number;
        };
        /**
         * Answered
         * @description The answer to a waiting run. A tool call is decided by `approve`, or by a text that says yes or no.
         */
        Answered: {
            /** @default null */
            text?: string | null;
            /** @default null */
            approve?: boolean | null;
        };
        /**
         * AppliedLimits
         * @description The limits with which a history was read.
         */
        AppliedLimits: {
            messageLimitApplied: number;
            activityLimitApplied: number;
        };
        /**
         * ArtifactShape
         * @description A piece of a result; `text` is its beginning if it is a text.
         */
        ArtifactShape: {
            id: string;
            runId: string;
            name: string | null;
            /** @enum {unknown} */
            kind: "data" | "file" | "text" | "url";
            mediaType: string | null;
            filename: string | null;
            bytes: number;
            url: string | null;
            text: string | null;
            addedAt: string;
        };
        /** ArtifactsAnswer */
        ArtifactsAnswer: {
            artifacts: components["schemas"]["ArtifactShape"][];
        };
        /**
         * AssignBody
         * @description Who is assigned, or with `remove` taken off; by id or slug.
         */
        AssignBody: {
            /** @default [] */
            agentIds?: string[];
            /** @default [] */
            userIds?: string[];
            /** @default false */
            remove?: boolean;
        };
        /**
         * AttachmentBlock
         * @description An attached file, by its id.
         */
        AttachmentBlock: {
            /** @enum {unknown} */
            type: "attachment";
            attachmentId: string;
        };
        /**
         * AutoRunList
         * @description The auto runs of a session, newest first.
         */
        AutoRunList: {
            sessionId: string;
            runs: components["schemas"]["AutoShape"][];
        };
        /**
         * AutoShape
         * @description An auto run as the API and the feed show it.
         */
        AutoShape: {
            runId: string;
            /** @enum {unknown} */
            runKind: "GOAL_RUN" | "TASK_RUN";
            sessionId: string;
            sessionIdentity: components["schemas"]["Identity"];
            sessionKey: string;
            goalId: string | null;
            taskId: string;
            /** @enum {unknown} */
            status: "active" | "completed" | "failed" | "interrupted" | "stopped" | "stopping";
            reason: ("goal_done" | "goal_ended" | "max_ticks" | "requested" | "server_restarted" | "session_stopped" | "task_archived" | "task_done" | "tick_failed") | null;
            intervalSeconds: number | null;
            tickCount: number;
            lastTickAt: string | null;
            nextTickAt: string | null;
            startedAt: string | null;
            endedAt: string | null;
        };
        /**
         * AutoStart
         * @description What to work on: a goal, a task, or a task that is made from a text; a new task without any of them.
         */
        AutoStart: {
            /** @default null */
            goalId?: string | null;
            /** @default null */
            taskId?: string | null;
            /** @default null */
            text?: string | null;
            /** @default null */
            intervalSeconds?: number | null;
            /** @default null */
            sessionId?: string | null;
        };
        /**
         * AutoStop
         * @description Which auto runs to stop: one, or all of a session.
         */
        AutoStop: {
            /** @default null */
            sessionId?: string | null;
            /** @default null */
            runId?: string | null;
        };
        /**
         * BehaviorFlags
         * @description What an agent may do on its own; None inherits from the account, then from the server.
         */
        BehaviorFlags: {
            /** @default null */
            canCreateTasks?: boolean | null;
            /** @default null */
            canModifyTaskStatus?: boolean | null;
            /** @default null */
            canMentionAgents?: boolean | null;
            /** @default null */
            canReviewTasks?: boolean | null;
            /** @default null */
            canMarkDone?: boolean | null;
            /** @default null */
            canPromoteMemory?: boolean | null;
        };
        /**
         * BehaviorPatch
         * @description What an agent may do on its own; null inherits from the account.
         */
        BehaviorPatch: {
            canCreateTasks?: boolean | null;
            canModifyTaskStatus?: boolean | null;
            canMentionAgents?: boolean | null;
            canReviewTasks?: boolean | null;
            canMarkDone?: boolean | null;
            canPromoteMemory?: boolean | null;
        };
        /**
         * BlockedCalls
         * @description Calls of a tool that the same rule refused.
         */
        BlockedCalls: {
            kind: string;
            rule: string;
            count: number;
            lastAt: string | null;
        };
        /**
         * BoardSession
         * @description The topic and the task of a session.
         */
        BoardSession: {
            topic: components["schemas"]["ContextRow"] | null;
            task: components["schemas"]["ContextRow"] | null;
        };
        /**
         * BudgetBody
         * @description A budget: its scope, and limits of tokens (input and output), US dollars or runs, at least one of them.
         *
         *         `scope` is `account`; `agent`, `task` or `session` for each one separately; or a single one, such as `agent:main`.
         */
        BudgetBody: {
            name: string;
            scope: string;
            /** @default null */
            tokens?: number | null;
            /** @default null */
            usd?: number | null;
            /** @default null */
            runs?: number | null;
            /**
             * @default day
             * @enum {unknown}
             */
            per?: "day" | "forever" | "month";
            /**
             * @default wait
             * @enum {unknown}
             */
            action?: "wait" | "warn";
        };
        /** BudgetPage */
        BudgetPage: {
            budgets: components["schemas"]["BudgetShape"][];
            nextCursor: string | null;
        };
        /**
         * BudgetShape
         * @description A budget's balance: its scope, amounts, usage, and how often it was allowed once more.
         *
         *         `scope` is `account`, `agent`, `task` or `session`, or one of them as `agent:main`; `subject` is the one whose usage
         *         this is, and null for the account, and for tasks and sessions if none has used much yet. `limits` are the amounts
         *         including what was allowed in addition. `action` says whether work waits when it is used up, or people are only
         *         notified. `source` says whether the settings or an owner set it. `waiting` counts the sessions whose next run waits
         *         for it. `title` is how people know the subject.
         */
        BudgetShape: {
            name: string;
            scope: string;
            subject: string | null;
            title: string;
            amounts: components["schemas"]["AmountsShape"];
            /** @enum {unknown} */
            per: "day" | "forever" | "month";
            /** @enum {unknown} */
            action: "wait" | "warn";
            limits: components["schemas"]["AmountsShape"];
            spent: components["schemas"]["Spent"];
            share: number;
            /** @enum {unknown} */
            state: "used_up" | "warned" | "within";
            allowed: number;
            /** @enum {unknown} */
            source: "owner" | "settings";
            renewsAt: string | null;
            waiting: number;
        };
        /** CancelledRunsAnswer */
        CancelledRunsAnswer: {
            cancelledRuns: string[];
        };
        /**
         * Changes
         * @description Everything new up to `seq`, which is the next `sinceSeq` to send.
         */
        Changes: {
            seq: number;
            more: boolean;
            reset: boolean;
            spaces: components["schemas"]["SpaceShape"][];
            topics: components["schemas"]["TopicShape"][];
            tasks: components["schemas"]["TaskShape"][];
            logs: Record<string, never>[];
            deleted: components["schemas"]["Deleted"];
            deletedLogIds: string[];
            left: components["schemas"]["Departed"];
        };
        /**
         * ChatAccepted
         * @description The message is stored, and its run or the run that it answers is queued.
         */
        ChatAccepted: {
            sessionId: string;
            sessionKey: string;
            runId: string;
        };
        /**
         * ChatLine
         * @description A chat message, and the session it is for.
         */
        ChatLine: {
            text: string;
            /** @default null */
            sessionId?: string | null;
            /** @default null */
            sessionKey?: string | null;
            /** @default null */
            agentId?: string | null;
            /**
             * @default web
             * @enum {unknown}
             */
            channelType?: "cli" | "telegram" | "web";
            /** @default null */
            clientInstanceId?: string | null;
            /** @default null */
            clientMessageId?: string | null;
            answersRunId?: string | null;
            /** @default false */
            steer?: boolean;
            /** @default null */
            metadata?: components["schemas"]["ChatMetadata"] | null;
            /** @default [] */
            attachments?: components["schemas"]["NewFile"][];
        };
        /**
         * ChatMetadata
         * @description What a message is about.
         */
        ChatMetadata: {
            /** @default null */
            goalId?: string | null;
        };
        /**
         * Checks
         * @description The state of each part.
         */
        Checks: {
            /** @enum {unknown} */
            storage: "degraded" | "failed" | "ok";
            /** @enum {unknown} */
            migrations: "degraded" | "failed" | "ok";
            /** @enum {unknown} */
            dispatcher: "degraded" | "failed" | "ok";
            /** @enum {unknown} */
            feed: "degraded" | "failed" | "ok";
            /** @enum {unknown} */
            gateway: "degraded" | "failed" | "ok";
            /** @enum {unknown} */
            search: "degraded" | "failed" | "ok";
        };
        /**
         * ClassifierBacklog
         * @description Whether entries of the board are sorted, how many wait for it, and for how long the oldest of them has.
         */
        ClassifierBacklog: {
            enabled: boolean;
            pending: number;
            oldestPendingSeconds: number | null;
        };
        /**
         * ClassifierStatus
         * @description How many entries wait, for how long, when some were last sorted, and by whom.
         */
        ClassifierStatus: {
            pending: number;
            oldestPendingSeconds: number | null;
            lastCycleAt: string | null;
            /** @enum {unknown} */
            mode: "model" | "off" | "rules";
        };
        /**
         * ClaudeAnswer
         * @description The answer to an event, as Claude Code reads it.
         */
        ClaudeAnswer: {
            /** @default null */
            hookSpecificOutput?: components["schemas"]["HookOutput"] | null;
        };
        /**
         * ClaudeEvent
         * @description An event as Claude Code sends it to a hook; unknown fields are ignored.
         */
        ClaudeEvent: {
            session_id: string;
            hook_event_name: string;
            /** @default  */
            prompt?: string;
            /** @default  */
            tool_name?: string;
            /** @default  */
            tool_use_id?: string;
            /** @default null */
            tool_input?: unknown;
            /** @default null */
            tool_response?: unknown;
            /** @default null */
            error?: unknown;
            /** @default  */
            source?: string;
            /** @default  */
            reason?: string;
            /** @default  */
            agent_type?: string;
            /** @default  */
            task_subject?: string;
            /** @default  */
            last_assistant_message?: string;
        };
        /**
         * CommandAnswer
         * @description The reply of a command, and the session that is active after it.
         */
        CommandAnswer: {
            sessionId: string;
            sessionKey: string;
            command: string;
            reply: string;
        };
        /** CommandsAnswer */
        CommandsAnswer: {
            commands: components["schemas"]["KnownCommand"][];
        };
        /**
         * Comparison
         * @description Two receipts side by side, by their last steps.
         */
        Comparison: {
            same: boolean;
            instructions: components["schemas"]["Difference"];
            input: components["schemas"]["Difference"];
            context: {
                [key: string]: string[];
            };
            tools: {
                [key: string]: string[];
            };
        };
        /**
         * Connections
         * @description Which spaces are visible from one; those that are not named stay as they are.
         */
        Connections: {
            connectivity: {
                [key: string]: boolean;
            };
            defaultVisible?: boolean;
        };
        /**
         * ContextData
         * @description What a block shows, by section, and how many lines did not fit.
         */
        ContextData: {
            scope: components["schemas"]["ContextScope"];
            workingSet: components["schemas"]["WorkingSet"];
            routingMemory: components["schemas"]["ContextRow"][];
            timeline: components["schemas"]["ContextRow"][];
            memory: components["schemas"]["ContextRow"][];
            omitted: {
                [key: string]: number;
            };
            items: components["schemas"]["ContextItem"][];
            boardSession?: components["schemas"]["BoardSession"];
            semantic?: components["schemas"]["Recalled"];
            degraded?: string;
        };
        /**
         * ContextItem
         * @description A line of a block with its reasons; its text is in the block.
         */
        ContextItem: {
            id: string;
            kind: string;
            section: string;
            scope: string;
            source: string;
            reason: string;
            chars: number;
            score?: number;
        };
        /**
         * ContextRow
         * @description A topic, task, message, note or kept fact that a block shows.
         */
        ContextRow: {
            id: string;
            kind: string;
            scope: string;
            text: string;
            reason: string;
            score?: number;
        };
        /**
         * ContextScope
         * @description The spaces that were searched, and how they were determined; null for all that the caller may see.
         */
        ContextScope: {
            sourceSpaceId: string | null;
            resolvedFrom: string | null;
            allowedSpaceIds: string[] | null;
            /** @enum {unknown} */
            recall: "own" | "space";
        };
        /**
         * ContextShape
         * @description A context as surfaces show it.
         */
        ContextShape: {
            /** @default true */
            ok?: boolean;
            /** @enum {unknown} */
            mode: "auto" | "cheap" | "full" | "patient";
            layers: string[];
            block: string;
            data?: components["schemas"]["ContextData"];
            sessionKey?: string;
            q?: string;
        };
        /**
         * ContextWindow
         * @description How many tokens the last run of a session used; `modelTokens` is null if the model's limit is unknown.
         */
        ContextWindow: {
            usedTokens: number;
            /** @default null */
            modelTokens?: number | null;
        };
        /** CycleIdAnswer */
        CycleIdAnswer: {
            cycleId: string;
        };
        /**
         * DatabaseState
         * @description The database: which one, the number of its newest migration, and how large it is.
         */
        DatabaseState: {
            /** @enum {unknown} */
            engine: "postgresql" | "sqlite";
            schema: number;
            sizeBytes: number;
        };
        /**
         * Deleted
         * @description Ids of what was deleted; sessions by their keys.
         */
        Deleted: {
            /** @default [] */
            topics?: string[];
            /** @default [] */
            tasks?: string[];
            /** @default [] */
            logs?: string[];
            /** @default [] */
            spaces?: string[];
            /** @default [] */
            sessions?: string[];
        };
        /**
         * DeliveryAccepted
         * @description The id of the delivery; the same delivery sent again has the same id.
         */
        DeliveryAccepted: {
            deliveryId: string;
        };
        /**
         * DeliveryContext
         * @description Where the last message of a session came from.
         */
        DeliveryContext: {
            channel: string;
            to: string | null;
            accountId: string;
        };
        /**
         * DeliveryDetail
         * @description A delivery with its body, while it is kept.
         */
        DeliveryDetail: {
            id: string;
            webhook: string;
            event: string;
            author: string;
            title: string;
            /** @enum {unknown} */
            outcome: "done" | "failed" | "ignored";
            reason: string | null;
            taskId: string | null;
            runId: string | null;
            attempts: number;
            receivedAt: string;
            attemptedAt: string;
            sessionKey: string | null;
            canRepeat: boolean;
            payload: Record<string, never> | null;
        };
        /** DeliveryPage */
        DeliveryPage: {
            deliveries: components["schemas"]["DeliveryShape"][];
            nextCursor: string | null;
        };
        /**
         * DeliveryShape
         * @description A delivery: its event, outcome, and the reason if nothing was done.
         *
         *         A failed or ignored one can be carried out again while its body is kept.
         */
        DeliveryShape: {
            id: string;
            webhook: string;
            event: string;
            author: string;
            title: string;
            /** @enum {unknown} */
            outcome: "done" | "failed" | "ignored";
            reason: string | null;
            taskId: string | null;
            runId: string | null;
            attempts: number;
            receivedAt: string;
            attemptedAt: string;
            sessionKey: string | null;
            canRepeat: boolean;
        };
        /**
         * Departed
         * @description Ids of what left the caller's view.
         */
        Departed: {
            /** @default [] */
            topics?: string[];
            /** @default [] */
            tasks?: string[];
            /** @default [] */
            logs?: string[];
        };
        /**
         * Difference
         * @description Whether two texts are the same, and where they are not.
         */
        Difference: {
            same: boolean;
            diff: string;
        };
        /**
         * DigestsBody
         * @description Whose digest to renew; without either, all that are not up to date.
         */
        DigestsBody: {
            /** @default null */
            topicId?: string | null;
            /** @default null */
            taskId?: string | null;
        };
        /**
         * DutyState
         * @description Background work of this server: when it last did something, when it is next due, and how it failed since start.
         *
         *         `nextAt` is null while nothing is known to become due; it then waits for something to happen.
         */
        DutyState: {
            name: string;
            lastAt: string | null;
            nextAt: string | null;
            failures: number;
            lastError: string | null;
        };
        /**
         * FileShape
         * @description A file that came with a message.
         */
        FileShape: {
            id: string;
            fileName: string;
            mimeType: string;
            sizeBytes: number;
            sha256: string;
        };
        /**
         * FiredSchedule
         * @description A schedule that has just fired, and the run it started.
         */
        FiredSchedule: {
            schedule: components["schemas"]["ScheduleShape"];
            runId: string;
        };
        /**
         * FollowerState
         * @description What follows the feed of changes, such as the index, and how many events it still has to handle.
         */
        FollowerState: {
            name: string;
            behind: number;
        };
        /**
         * Found
         * @description What a server speaks, the richest dialect first, which of them to use, and its models.
         *
         *         `problem` says in one sentence why it cannot be used as it was asked.
         */
        Found: {
            baseUrl: string;
            kinds: string[];
            kind: string | null;
            models: string[];
            needsKey: boolean;
            problem: string | null;
        };
        /**
         * FoundMemories
         * @description The scopes that were searched, and what was found there, best first.
         */
        FoundMemories: {
            chain: string[];
            items: components["schemas"]["FoundShape"][];
        };
        /**
         * FoundShape
         * @description A memory as searches show it: with its score, and why it was found.
         */
        FoundShape: {
            id: string;
            scope: string;
            /** @enum {unknown} */
            type: "constraint" | "decision" | "fact" | "failure" | "fix" | "preference" | "result" | "task_state";
            title: string;
            content: string;
            tags: string[];
            confidence: number;
            createdBy: string;
            createdAt: string;
            updatedAt: string;
            expiresAt: string | null;
            promotedFrom: string | null;
            source: components["schemas"]["MemorySource"];
            score: number;
            reason: string;
        };
        /**
         * GatewayState
         * @description A gateway: its state and since when, how many runs wait for it and, for people, what is wrong with it.
         *
         *         One without a `kind` is not in the settings, although agents of this account name it.
         */
        GatewayState: {
            name: string;
            kind: string;
            /** @enum {unknown} */
            status: "degraded" | "failed" | "ok";
            since: string;
            /** @default 0 */
            waitingRuns?: number;
            /** @default null */
            lastError?: string | null;
        };
        /**
         * GoalBody
         * @description A new goal, and the session it belongs to.
         */
        GoalBody: {
            name: string;
            /** @default  */
            description?: string;
            /** @default null */
            status?: ("submitted" | "planning" | "working" | "cancelled") | null;
            /** @default {} */
            metadata?: Record<string, never>;
            /** @default null */
            sessionId?: string | null;
        };
        /** GoalPage */
        GoalPage: {
            goals: components["schemas"]["GoalShape"][];
            nextCursor: string | null;
        };
        /**
         * GoalPatch
         * @description Changes of a goal; fields left out stay as they are. A session that is named must be the goal's own.
         */
        GoalPatch: {
            name?: string;
            description?: string;
            /** @enum {string} */
            status?: "submitted" | "planning" | "working" | "blocked" | "completed" | "failed" | "cancelled";
            metadata?: Record<string, never>;
            /** @default null */
            sessionId?: string | null;
        };
        /**
         * GoalShape
         * @description A goal with its plans and its tasks.
         */
        GoalShape: {
            id: string;
            name: string;
            description: string;
            /** @enum {unknown} */
            status: "blocked" | "cancelled" | "completed" | "failed" | "planning" | "submitted" | "working";
            createdAt: string;
            updatedAt: string;
            sessionId: string;
            metadata: Record<string, never>;
            plans: components["schemas"]["PlanShape"][];
            tasks: components["schemas"]["TaskShape"][];
        };
        /**
         * Health
         * @description The state of the server, for people.
         */
        Health: {
            /** @enum {unknown} */
            status: "not_ready" | "ready";
            checks: components["schemas"]["Checks"];
            lanes: components["schemas"]["LaneCounts"];
            waiting: components["schemas"]["WaitingCounts"];
            gateways: components["schemas"]["GatewayState"][];
            mcpServers: components["schemas"]["McpServerState"][];
            index: components["schemas"]["IndexState"];
            contextInjection: components["schemas"]["Injection"][];
            classifier: components["schemas"]["ClassifierBacklog"];
            followers: components["schemas"]["FollowerState"][];
            database: components["schemas"]["DatabaseState"] | null;
            duties: components["schemas"]["DutyState"][] | null;
            storageError: string | null;
        };
        /**
         * History
         * @description The newest messages of one generation, oldest first, and a cursor to earlier ones.
         */
        History: {
            sessionKey: string;
            sessionId: string | null;
            messages: components["schemas"]["MessageShape"][];
            truncated: boolean;
            droppedMessages: number;
            contentTruncated: boolean;
            contentRedacted: boolean;
            bytes: number;
            nextCursor: string | null;
        };
        /**
         * HitReason
         * @description What each part adds to a score.
         */
        HitReason: {
            words: number;
            meaning: number;
            note: number;
            session: number;
            label: number;
        };
        /**
         * HookMessage
         * @description A message to an agent; `sessionKey` only where the settings allow it. `name` labels the run.
         */
        HookMessage: {
            message: string;
            /** @default null */
            agentId?: string | null;
            /** @default null */
            sessionKey?: string | null;
            /** @default null */
            name?: string | null;
        };
        /**
         * HookOutput
         * @description What Claude Code adds to its conversation.
         */
        HookOutput: {
            hookEventName: string;
            additionalContext: string;
        };
        /**
         * Identity
         * @description The identity of a session.
         */
        Identity: {
            channelType: string;
            conversationKey: string;
        };
        /**
         * IndexState
         * @description How far search is behind what was written, and whether it compares meanings or words alone.
         */
        IndexState: {
            lagSeconds: number;
            pending: number;
            /** @enum {unknown} */
            mode: "hybrid" | "lexical";
        };
        /**
         * IngestBody
         * @description One entry to be stored soon, as it is sent to the log, or several in `entries`.
         */
        IngestBody: {
            /** @default null */
            content?: string | null;
            /** @default null */
            id?: string | null;
            /** @default null */
            summary?: string | null;
            /** @default null */
            raw?: string | null;
            /** @default null */
            topicId?: string | null;
            /** @default null */
            taskId?: string | null;
            /** @default null */
            spaceId?: string | null;
            /** @default null */
            relatedLogId?: string | null;
            /** @default null */
            agentId?: string | null;
            /** @default null */
            agentLabel?: string | null;
            /** @default null */
            source?: components["schemas"]["LogSource"] | null;
            /** @default null */
            idempotencyKey?: string | null;
            /** @default null */
            createdAt?: string | null;
            /** @default [] */
            attachmentIds?: string[];
            /** @default null */
            type?: ("action" | "conversation" | "import" | "note" | "system") | null;
            /** @default null */
            entries?: components["schemas"]["LogBody"][] | null;
        };
        /**
         * InjectedContext
         * @description What lists show about the context of a run.
         */
        InjectedContext: {
            /** @default false */
            injected?: boolean;
            /** @default [] */
            layers?: string[];
            /** @default 0 */
            chars?: number;
            /** @default null */
            degraded?: string | null;
        };
        /**
         * Injection
         * @description When an agent was last shown a context, and how many of its runs were heard since without one.
         */
        Injection: {
            agentId: string;
            lastInjectedAt: string | null;
            runsSince: number;
        };
        /**
         * KnownCommand
         * @description A slash command: its name without the slash, how it is written, and what it does.
         */
        KnownCommand: {
            name: string;
            usage: string;
            effect: string;
            ownerOnly: boolean;
        };
        /**
         * KnownLog
         * @description An entry that was stored before (`duplicate`), with its `id` alone where the caller may not read it.
         *
         *         `ignored` says that its session is not recorded.
         */
        KnownLog: {
            log: Record<string, never> | null;
            /** @default false */
            duplicate?: boolean;
            /** @default false */
            ignored?: boolean;
        };
        /**
         * KnownServer
         * @description A model server that people have; `keyEnv` names the server's variable for its key, `hasKey` whether it is set.
         */
        KnownServer: {
            name: string;
            baseUrl: string;
            keyEnv: string;
            hasKey: boolean;
            start: string;
        };
        /**
         * LaneCounts
         * @description How many lanes are busy, how many runs are queued, and how many lanes are held by a lost worker.
         */
        LaneCounts: {
            busy: number;
            queued: number;
            stuck: number;
        };
        /**
         * LastFault
         * @description Why the newest attempt failed, and when the next one starts; null once it has started.
         *
         *         With `unreachableSince`, the gateway has not answered since then: the run waits, and the attempt does not count.
         */
        LastFault: {
            attempt: number;
            code: string;
            message: string;
            at: string;
            nextAttemptAt: string | null;
            unreachableSince: string | null;
        };
        /**
         * LogBody
         * @description A new entry; `agentId` is who said it, `user` for a person.
         */
        LogBody: {
            content: string;
            /** @default null */
            id?: string | null;
            /** @default null */
            summary?: string | null;
            /** @default null */
            raw?: string | null;
            /** @default null */
            topicId?: string | null;
            /** @default null */
            taskId?: string | null;
            /** @default null */
            spaceId?: string | null;
            /** @default null */
            relatedLogId?: string | null;
            /** @default null */
            agentId?: string | null;
            /** @default null */
            agentLabel?: string | null;
            /** @default null */
            source?: components["schemas"]["LogSource"] | null;
            /** @default null */
            idempotencyKey?: string | null;
            /** @default null */
            createdAt?: string | null;
            /** @default [] */
            attachmentIds?: string[];
            /** @enum {unknown} */
            type: "action" | "conversation" | "import" | "note" | "system";
        };
        /**
         * LogChange
         * @description Changes of an entry; fields left out stay as they are.
         */
        LogChange: {
            topicId?: string | null;
            taskId?: string | null;
            spaceId?: string;
            content?: string;
            summary?: string | null;
            /** @enum {unknown} */
            classificationStatus?: "classified" | "failed" | "pending";
        };
        /**
         * LogHit
         * @description An entry or a note that was found.
         */
        LogHit: {
            id: string;
            seq: number;
            type: string;
            role: string;
            content: string;
            summary: string | null;
            spaceId: string;
            topicId: string | null;
            taskId: string | null;
            sessionKey: string | null;
            relatedLogId: string | null;
            agentId: string;
            agentLabel: string | null;
            classificationStatus: string;
            createdAt: string;
            score: number;
            reason: components["schemas"]["HitReason"];
        };
        /** LogPage */
        LogPage: {
            logs: components["schemas"]["LogShape"][];
            nextCursor: string | null;
        };
        /**
         * LogShape
         * @description An entry as surfaces show it.
         */
        LogShape: {
            id: string;
            seq: number;
            /** @enum {unknown} */
            type: "action" | "conversation" | "import" | "note" | "system";
            role: string;
            content: string;
            summary: string | null;
            spaceId: string;
            topicId: string | null;
            taskId: string | null;
            sessionKey: string | null;
            relatedLogId: string | null;
            agentId: string;
            agentLabel: string | null;
            /** @enum {unknown} */
            classificationStatus: "classified" | "failed" | "pending";
            createdAt: string;
            raw?: string | null;
            sessionId: string | null;
            runId: string | null;
            idempotencyKey: string | null;
            provenance: components["schemas"]["Provenance"];
            source: Record<string, never>;
            classificationAttempts: number;
            classificationError: string | null;
            attachments: components["schemas"]["FileShape"][];
            updatedAt: string;
        };
        /**
         * LogSource
         * @description Where something was said, in the words of the program that sends it.
         */
        LogSource: {
            /** @default null */
            channel?: string | null;
            /** @default null */
            sessionKey?: string | null;
            /** @default null */
            messageId?: string | null;
            /** @default null */
            requestId?: string | null;
            /** @default null */
            conversationId?: string | null;
            /** @default null */
            threadId?: string | null;
            /** @default null */
            channelId?: string | null;
            /** @default null */
            boardScopeTopicId?: string | null;
            /** @default null */
            boardScopeTaskId?: string | null;
            /** @default null */
            boardScopeSpaceId?: string | null;
            /** @default null */
            boardScopeKind?: string | null;
            /** @default null */
            boardScopeLock?: boolean | null;
        };
        /** LogsAnswer */
        LogsAnswer: {
            logs: components["schemas"]["LogShape"][];
        };
        /**
         * McpServerShown
         * @description A server with its tools, as far as they are known.
         *
         *         Whoever runs Carrel also sees its command line or URL, and the accounts whose agents may use it.
         */
        McpServerShown: {
            name: string;
            /** @enum {unknown} */
            kind: "command" | "url";
            /** @enum {unknown} */
            status: "failed" | "idle" | "ok" | "starting";
            since: string;
            tools: number;
            starts: number;
            /** @default [] */
            leftOut?: string[];
            /** @default null */
            lastError?: string | null;
            offered: components["schemas"]["McpTool"][];
            /** @default null */
            address?: string | null;
            /** @default null */
            accounts?: string[] | null;
        };
        /** McpServerShownPage */
        McpServerShownPage: {
            servers: components["schemas"]["McpServerShown"][];
            nextCursor: string | null;
        };
        /**
         * McpServerState
         * @description A server in the settings: its state and since when, how often it was started and, for people, what is wrong.
         *
         *         It is `idle` until somebody wants its tools. `leftOut` names tools that it lists but that are not offered, and why.
         */
        McpServerState: {
            name: string;
            /** @enum {unknown} */
            kind: "command" | "url";
            /** @enum {unknown} */
            status: "failed" | "idle" | "ok" | "starting";
            since: string;
            tools: number;
            starts: number;
            /** @default [] */
            leftOut?: string[];
            /** @default null */
            lastError?: string | null;
        };
        /**
         * McpTool
         * @description A tool: the name that agents and rules know, whether it may change something, and its server's description.
         */
        McpTool: {
            name: string;
            /** @enum {unknown} */
            effect: "read" | "write";
            description: string;
        };
        /**
         * Me
         * @description The caller, and what the caller may do.
         */
        Me: {
            account: components["schemas"]["OwnAccount"];
            actor: components["schemas"]["Actor"];
            rights: string[];
            spaceIds: string[];
            seq: number;
        };
        /**
         * MemoryBody
         * @description A memory to keep. `agentId` says whose session the scope means, `supersedes` which memory this one replaces.
         */
        MemoryBody: {
            /** @enum {unknown} */
            type: "constraint" | "decision" | "fact" | "failure" | "fix" | "preference" | "result" | "task_state";
            content: string;
            /** @default  */
            title?: string;
            /** @default [] */
            tags?: string[];
            scope: string;
            /** @default null */
            agentId?: string | null;
            /** @default null */
            expiresAt?: string | null;
            /** @default null */
            supersedes?: string | null;
        };
        /**
         * MemoryChange
         * @description Changes of a memory; fields left out stay as they are, and `expiresAt: null` keeps it for good.
         */
        MemoryChange: {
            /** @enum {unknown} */
            type?: "constraint" | "decision" | "fact" | "failure" | "fix" | "preference" | "result" | "task_state";
            content?: string;
            title?: string;
            tags?: string[];
            expiresAt?: string | null;
        };
        /**
         * MemoryList
         * @description The scopes that were read, narrowest first, whose they are, and a page of their memories, newest first.
         */
        MemoryList: {
            chain: string[];
            agentId: string | null;
            items: components["schemas"]["MemoryShape"][];
            nextCursor: string | null;
        };
        /**
         * MemoryRead
         * @description A run that was shown a memory.
         */
        MemoryRead: {
            runId: string;
            sessionKey: string;
            at: string | null;
        };
        /**
         * MemoryShape
         * @description A memory as every surface shows it.
         */
        MemoryShape: {
            id: string;
            scope: string;
            /** @enum {unknown} */
            type: "constraint" | "decision" | "fact" | "failure" | "fix" | "preference" | "result" | "task_state";
            title: string;
            content: string;
            tags: string[];
            confidence: number;
            createdBy: string;
            createdAt: string;
            updatedAt: string;
            expiresAt: string | null;
            promotedFrom: string | null;
            source: components["schemas"]["MemorySource"];
        };
        /**
         * MemorySource
         * @description The source of a memory.
         */
        MemorySource: {
            runId: string | null;
            entryId: string | null;
        };
        /**
         * MentionShape
         * @description Somebody who is mentioned in a message.
         */
        MentionShape: {
            /** @enum {unknown} */
            kind: "agent" | "user";
            id: string;
        };
        /**
         * Merged
         * @description A topic that was merged into another: its name at that time, the moment, and its entries.
         */
        Merged: {
            id: string;
            name: string;
            at: string;
            entryIds: string[];
        };
        /**
         * MessageBody
         * @description A message to a task's thread.
         */
        MessageBody: {
            content: string;
            /** @default [] */
            attachmentIds?: string[];
        };
        /**
         * MessageShape
         * @description One message of a transcript.
         */
        MessageShape: {
            id: string;
            /** @enum {unknown} */
            role: "assistant" | "system" | "toolCall" | "toolResult" | "user";
            content: (components["schemas"]["TextBlock"] | components["schemas"]["ToolCallBlock"] | components["schemas"]["ToolResultBlock"] | components["schemas"]["AttachmentBlock"])[];
            timestamp: string;
            runId: string | null;
            provenance: components["schemas"]["Provenance"];
        };
        /**
         * Metric
         * @description One metric; for a histogram, `value` is the sum and `count` the number of observations.
         */
        Metric: {
            name: string;
            /** @enum {unknown} */
            type: "counter" | "gauge" | "histogram";
            labels: {
                [key: string]: string;
            };
            value: number;
            count?: number;
        };
        /** MetricsAnswer */
        MetricsAnswer: {
            metrics: components["schemas"]["Metric"][];
        };
        /**
         * ModeBody
         * @description Which session; `clientInstanceId` may name the browser or chat that asks, and changes nothing.
         */
        ModeBody: {
            /** @default null */
            sessionId?: string | null;
            /** @default null */
            clientInstanceId?: string | null;
        };
        /**
         * MovedTask
         * @description A task after a move, and the sessions and runs that the move ended.
         */
        MovedTask: {
            task: components["schemas"]["TaskShape"];
            cancelledRuns: string[];
            closedSessions: string[];
        };
        /**
         * NewAccount
         * @description A new account; without a slug, one is made from its name.
         */
        NewAccount: {
            name: string;
            /** @default null */
            slug?: string | null;
        };
        /**
         * NewAccountAnswer
         * @description A new account and its first owner token, which is shown only once.
         */
        NewAccountAnswer: {
            account: components["schemas"]["AccountShape"];
            ownerToken: string;
        };
        /**
         * NewAgent
         * @description A new agent.
         */
        NewAgent: {
            name?: string;
            slug?: string;
            enabled?: boolean;
            description?: string;
            gateway?: string;
            model?: string;
            thinking?: ("high" | "low" | "medium" | "minimal" | "off") | null;
            concurrency?: number | null;
            behaviorFlags?: components["schemas"]["BehaviorPatch"];
            spaceIds?: string[];
            tools?: components["schemas"]["ToolsPatch"];
            subagents?: components["schemas"]["SubagentsPatch"];
            mcp?: string[];
            /** @enum {unknown} */
            sandbox?: "off" | "on";
            /** @enum {unknown} */
            runtime?: "acp" | "subagent";
            visibility?: ("agent" | "all" | "self" | "tree") | null;
            recall?: ("own" | "space") | null;
            instructionsExtra?: string;
            workspace?: string;
            heartbeatMinutes?: number;
            id: string;
        };
        /**
         * NewFile
         * @description A file attached to a message.
         */
        NewFile: {
            name: string;
            mimeType: string;
            dataBase64: string;
        };
        /**
         * NewFork
         * @description The last entry that the new chat starts with, the newest by default, and what it is called.
         */
        NewFork: {
            /** @default null */
            entryId?: string | null;
            /** @default null */
            displayName?: string | null;
        };
        /**
         * NewReplay
         * @description Which step to ask once more, the last one by default, and of which model.
         */
        NewReplay: {
            /** @default null */
            gateway?: string | null;
            /** @default null */
            model?: string | null;
            /** @default null */
            step?: number | null;
        };
        /**
         * NewRun
         * @description A message to an agent: in a session, for a Task, or in the agent's main lane.
         */
        NewRun: {
            message: string;
            /** @default null */
            agentId?: string | null;
            /** @default null */
            sessionKey?: string | null;
            /** @default null */
            taskId?: string | null;
            /** @default 0 */
            timeoutSeconds?: number;
            /** @default false */
            steer?: boolean;
        };
        /**
         * NewSession
         * @description A new session.
         */
        NewSession: {
            /** @default null */
            agentId?: string | null;
            /**
             * @default web
             * @enum {unknown}
             */
            channelType?: "cli" | "telegram" | "web";
            /** @default null */
            conversationKey?: string | null;
            /** @default null */
            clientInstanceId?: string | null;
            /** @default null */
            displayName?: string | null;
        };
        /**
         * NewSpace
         * @description A new space; without an id it follows from the name.
         */
        NewSpace: {
            name: string;
            /** @default null */
            id?: string | null;
            /** @default null */
            color?: string | null;
            /** @default true */
            defaultVisible?: boolean;
        };
        /**
         * NewTask
         * @description A new task; only the title is required. Agents and people are named by id or slug.
         */
        NewTask: {
            title: string;
            /** @default null */
            id?: string | null;
            /** @default  */
            description?: string;
            /** @default null */
            status?: ("inbox" | "assigned" | "in_progress" | "review" | "done" | "blocked" | "archived" | "todo" | "doing") | null;
            /** @default null */
            blockedReason?: string | null;
            /** @default 3 */
            priority?: number | ("critical" | "high" | "medium" | "low" | "lowest");
            tags?: string[];
            labels?: string[];
            /** @default null */
            topicId?: string | null;
            /** @default null */
            spaceId?: string | null;
            /** @default null */
            parentId?: string | null;
            /** @default [] */
            dependencies?: string[];
            /** @default [] */
            assignedAgentIds?: string[];
            /** @default [] */
            assignedUserIds?: string[];
            /** @default null */
            dueDate?: string | null;
            /** @default null */
            snoozedUntil?: string | null;
            /** @default false */
            pinned?: boolean;
            /** @default null */
            color?: string | null;
            /** @default {} */
            metadata?: Record<string, never>;
        };
        /**
         * NewTokenAnswer
         * @description A new token and its secret, which is shown only once.
         */
        NewTokenAnswer: {
            token: components["schemas"]["TokenShape"];
            secret: string;
        };
        /**
         * NewTokenBody
         * @description A new token. Kind agent needs agentId, kind user userId, kind client agentIds.
         */
        NewTokenBody: {
            /** @enum {unknown} */
            kind: "agent" | "client" | "owner" | "user";
            name: string;
            /** @default null */
            agentId?: string | null;
            /** @default null */
            userId?: string | null;
            /** @default [] */
            agentIds?: string[];
            /** @default null */
            expiresAt?: string | null;
            /** @default null */
            spaceIds?: string[] | null;
        };
        /**
         * NewUser
         * @description A new user; without a slug, one is made from the name.
         */
        NewUser: {
            name: string;
            /** @default null */
            slug?: string | null;
            /** @default null */
            email?: string | null;
            /**
             * @default member
             * @enum {unknown}
             */
            role?: "member" | "owner";
        };
        /**
         * NotesBody
         * @description A new note; its type may be given.
         */
        NotesBody: {
            content: string;
            /** @default null */
            id?: string | null;
            /** @default null */
            summary?: string | null;
            /** @default null */
            raw?: string | null;
            /** @default null */
            topicId?: string | null;
            /** @default null */
            taskId?: string | null;
            /** @default null */
            spaceId?: string | null;
            /** @default null */
            relatedLogId?: string | null;
            /** @default null */
            agentId?: string | null;
            /** @default null */
            agentLabel?: string | null;
            /** @default null */
            source?: components["schemas"]["LogSource"] | null;
            /** @default null */
            idempotencyKey?: string | null;
            /** @default null */
            createdAt?: string | null;
            /** @default [] */
            attachmentIds?: string[];
            /** @default note */
            type?: string;
        };
        /**
         * NotificationList
         * @description A page of notifications, newest first, and the number of unread ones.
         */
        NotificationList: {
            notifications: components["schemas"]["NotificationShape"][];
            unreadCount: number;
            nextCursor: string | null;
        };
        /**
         * NotificationShape
         * @description A notification; `readAt` is set once it was read.
         */
        NotificationShape: {
            id: string;
            /** @enum {unknown} */
            type: "assignment" | "budget" | "loop" | "mention" | "progress" | "response_request" | "run_failed" | "run_undelivered" | "status_change" | "thread_update";
            title: string;
            body: string;
            taskId: string | null;
            entryId: string | null;
            runId: string | null;
            sessionId: string | null;
            sessionKey: string | null;
            createdAt: string;
            readAt: string | null;
        };
        /**
         * Notified
         * @description Somebody who was notified; `runId` is the run that notifies an agent.
         */
        Notified: {
            kind: string;
            id: string;
            /** @enum {unknown} */
            type: "assignment" | "mention" | "response_request" | "stalled" | "status_change" | "thread_update";
            /** @default null */
            runId?: string | null;
        };
        /**
         * OfSession
         * @description Which session; where something of a session is named, the one that it must belong to, if any.
         */
        OfSession: {
            /** @default null */
            sessionId?: string | null;
        };
        /** OneAccount */
        OneAccount: {
            account: components["schemas"]["AccountShape"];
        };
        /** OneActor */
        OneActor: {
            actor: components["schemas"]["Actor"];
        };
        /** OneAgent */
        OneAgent: {
            agent: components["schemas"]["AgentShape"];
        };
        /** OneAuto */
        OneAuto: {
            run: components["schemas"]["AutoShape"];
        };
        /** OneBudget */
        OneBudget: {
            budget: components["schemas"]["BudgetShape"];
        };
        /** OneDelivery */
        OneDelivery: {
            delivery: components["schemas"]["DeliveryShape"];
        };
        /** OneDeliveryDetail */
        OneDeliveryDetail: {
            delivery: components["schemas"]["DeliveryDetail"];
        };
        /** OneFile */
        OneFile: {
            attachment: components["schemas"]["FileShape"];
        };
        /** OneMcpServerShown */
        OneMcpServerShown: {
            server: components["schemas"]["McpServerShown"];
        };
        /** OneNotification */
        OneNotification: {
            notification: components["schemas"]["NotificationShape"];
        };
        /** OnePlan */
        OnePlan: {
            plan: components["schemas"]["PlanShape"];
        };
        /** OnePreview */
        OnePreview: {
            preview: components["schemas"]["Preview"];
        };
        /** OneRun */
        OneRun: {
            run: components["schemas"]["RunShape"];
        };
        /** OneSchedule */
        OneSchedule: {
            schedule: components["schemas"]["ScheduleShape"];
        };
        /** OneSession */
        OneSession: {
            session: components["schemas"]["SessionShape"];
        };
        /** OneSpace */
        OneSpace: {
            space: components["schemas"]["SpaceShape"];
        };
        /** OneTopic */
        OneTopic: {
            topic: components["schemas"]["TopicShape"];
        };
        /** OneUser */
        OneUser: {
            user: components["schemas"]["UserShape"];
        };
        /**
         * OrderBody
         * @description Tasks in their new order, optionally all of one topic or status.
         */
        OrderBody: {
            orderedIds: string[];
            /** @default null */
            topicId?: string | null;
            /** @default null */
            status?: ("inbox" | "assigned" | "in_progress" | "review" | "done" | "blocked" | "archived" | "todo" | "doing") | null;
        };
        /**
         * OwnAccount
         * @description The caller's account.
         */
        OwnAccount: {
            id: string;
            name: string;
            slug: string;
        };
        /**
         * PlanBody
         * @description The content of a plan; what is left out stays as it is. Tasks replace those that were set before.
         */
        PlanBody: {
            /** @default null */
            markdown?: string | null;
            /** @default null */
            title?: string | null;
            /** @default null */
            tasks?: components["schemas"]["PlannedTask"][] | null;
            /** @default null */
            sessionId?: string | null;
        };
        /**
         * PlanMode
         * @description Whether a session is in plan mode.
         */
        PlanMode: {
            enabled: boolean;
            activePlanId: string | null;
        };
        /**
         * PlanShape
         * @description A plan with its tasks, in their order.
         */
        PlanShape: {
            id: string;
            goalId: string | null;
            sessionId: string;
            title: string;
            markdown: string;
            /** @enum {unknown} */
            status: "blocked" | "cancelled" | "completed" | "drafting" | "failed" | "ready" | "skipped" | "working";
            dependencies: string[];
            tasks: components["schemas"]["TaskShape"][];
            createdAt: string;
            updatedAt: string;
        };
        /**
         * PlanStateShape
         * @description The plan mode of a session, and its newest plans; the session is active if a chat or browser points to it.
         */
        PlanStateShape: {
            sessionId: string;
            sessionIdentity: components["schemas"]["SessionIdentity"];
            sessionKey: string;
            sessionActive: boolean;
            enabled: boolean;
            activePlanId: string | null;
            updatedAt: string | null;
            plans: components["schemas"]["PlanShape"][];
        };
        /**
         * PlannedTask
         * @description A task of a plan; a dependency is the id of a task, or `task-<n>` for one of this list, from task-0 on.
         */
        PlannedTask: {
            title: string;
            /** @default  */
            description?: string;
            /** @default [] */
            dependencies?: string[];
        };
        /**
         * Posted
         * @description A message that was posted, and who was notified of it.
         */
        Posted: {
            message: components["schemas"]["ThreadMessage"];
            notified: components["schemas"]["Notified"][];
        };
        /**
         * Preview
         * @description What a webhook would make of a delivery, without doing it. Without a `thread` it would stand alone.
         */
        Preview: {
            event: string;
            ignoredBecause: string | null;
            /** @enum {unknown} */
            action: "message" | "task";
            target: string;
            title: string;
            text: string;
            thread: string | null;
        };
        /**
         * PreviewedTool
         * @description A tool as the model is shown it.
         */
        PreviewedTool: {
            name: string;
            description: string;
            parameters: Record<string, never>;
        };
        /**
         * PromoteBody
         * @description Why every session should know a memory.
         */
        PromoteBody: {
            reason: string;
        };
        /**
         * PromotedMemory
         * @description The memory that every session knows, and the one it was made from.
         */
        PromotedMemory: {
            item: components["schemas"]["MemoryShape"];
            promotedFrom: string;
        };
        /**
         * PromptPreview
         * @description What every request of an agent begins with in one kind of run.
         */
        PromptPreview: {
            agentId: string;
            /** @enum {unknown} */
            profile: "chat" | "heartbeat" | "subagent" | "task";
            version: string;
            sha256: string;
            instructions: string;
            tools: components["schemas"]["PreviewedTool"][];
        };
        /**
         * Provenance
         * @description Where a message came from; fields that do not apply are left out on the wire.
         */
        Provenance: {
            /** @enum {unknown} */
            kind: "a2a" | "announce" | "auto" | "cron" | "external_user" | "heartbeat" | "hook" | "inter_session" | "internal_system" | "notification" | "reply_back" | "reported" | "spawn";
            sourceSessionKey?: string;
            sourceChannel?: string;
            sourceTool?: string;
            notificationId?: string;
            type?: string;
            actor?: string;
            name?: string;
            by?: string;
        };
        /**
         * Queue
         * @description The running run of a lane and its queue.
         */
        Queue: {
            running: components["schemas"]["RunShape"] | null;
            runs: components["schemas"]["RunShape"][];
        };
        /**
         * QueuedRun
         * @description The message is stored and its run is queued.
         */
        QueuedRun: {
            runId: string;
            sessionKey: string;
        };
        /** ReadAnswer */
        ReadAnswer: {
            read: number;
        };
        /** ReadsAnswer */
        ReadsAnswer: {
            reads: components["schemas"]["MemoryRead"][];
        };
        /**
         * Reason
         * @description One reason, since when it holds, the actions that would change it, and the run and session it is about.
         *
         *         The reason `lane_busy` is about the run that holds the lane.
         */
        Reason: {
            code: string;
            text: string;
            since: string | null;
            actions: string[];
            runId?: string;
            sessionKey?: string;
        };
        /**
         * Recalled
         * @description What a search found.
         */
        Recalled: {
            topics: components["schemas"]["ContextRow"][];
            tasks: components["schemas"]["ContextRow"][];
            notes: components["schemas"]["ContextRow"][];
            logs: components["schemas"]["ContextRow"][];
        };
        /**
         * ReceiptStep
         * @description One step: what was sent, and what came back. `left_out` names what this kind of gateway cannot be sent.
         */
        ReceiptStep: {
            n: number;
            attempt: number;
            sentAt: string | null;
            model: string;
            instructionsVersion: string;
            instructionsSha256: string;
            instructions: string | null;
            input: unknown;
            tools: string[];
            leftOut: string[];
            historyOmitted: number;
            bodySha256: string;
            context: components["schemas"]["ShownContext"];
            output: unknown;
            body?: string;
        };
        /**
         * ReindexBody
         * @description What to index again: everything, all of a kind, or one topic, task or entry with what belongs to it.
         */
        ReindexBody: {
            /** @enum {unknown} */
            kind: "all" | "log" | "task" | "topic";
            /** @default null */
            id?: string | null;
        };
        /**
         * Reindexing
         * @description What is being indexed again; `index` in `GET /api/health` shows when that is done.
         */
        Reindexing: {
            /** @enum {unknown} */
            kind: "all" | "log" | "task" | "topic";
            id: string | null;
        };
        /**
         * Reloaded
         * @description What was taken up, and which settings need a restart.
         */
        Reloaded: {
            changed: string[];
            needRestart: string[];
        };
        /**
         * ReplayBody
         * @description What to sort again: the bundle of an entry, or its session from that entry on.
         */
        ReplayBody: {
            anchorLogId: string;
            /**
             * @default bundle
             * @enum {unknown}
             */
            mode?: "bundle" | "from_here";
        };
        /**
         * Replayed
         * @description The new run, the run whose step it sends again, and the lane of its own that it is in.
         */
        Replayed: {
            runId: string;
            sessionKey: string;
            replayedFrom: string;
        };
        /**
         * ResetSession
         * @description The generation that was closed, and the number of the next one.
         */
        ResetSession: {
            closedSessionId: string | null;
            nextGeneration: number;
        };
        /**
         * RestoredSession
         * @description A session that was brought back, and whether the generation that was archived is open again.
         */
        RestoredSession: {
            session: components["schemas"]["SessionShape"];
            reopened: boolean;
        };
        /**
         * Retried
         * @description The new run, and the failed run it retries.
         */
        Retried: {
            runId: string;
            retriedFrom: string;
        };
        /**
         * RouteShape
         * @description One place that messages of a session went to.
         */
        RouteShape: {
            topicId: string;
            topicName: string;
            taskId: string | null;
            taskTitle: string | null;
            anchor: string;
            ts: string;
        };
        /**
         * RoutingBody
         * @description Where messages of a session belong; `anchor` is what was said.
         */
        RoutingBody: {
            sessionKey: string;
            topicId: string;
            /** @default null */
            taskId?: string | null;
            /** @default  */
            anchor?: string;
        };
        /**
         * RoutingShown
         * @description The routing memory of a session, newest last.
         */
        RoutingShown: {
            sessionKey: string;
            items: components["schemas"]["RouteShape"][];
        };
        /**
         * RunAttributes
         * @description The attributes of a run: its session's identity and, on a tick, the context of its auto run.
         */
        RunAttributes: {
            /** @default null */
            AUTO_RUN_KIND?: ("GOAL_RUN" | "TASK_RUN") | null;
            /** @default null */
            AUTO_RUN_ID?: string | null;
            /** @default null */
            AUTO_GOAL_ID?: string | null;
            /** @default null */
            AUTO_TASK_ID?: string | null;
            SESSION_IDENTITY_CHANNEL: string;
            SESSION_IDENTITY_CONVERSATION: string;
        };
        /**
         * RunError
         * @description Why a run failed, or its last attempt did.
         */
        RunError: {
            code: string;
            message: string;
        };
        /** RunPage */
        RunPage: {
            runs: components["schemas"]["RunShape"][];
            nextCursor: string | null;
        };
        /**
         * RunShape
         * @description A run as every list shows it; `title` is what a person would call it, `sessionTitle` its session.
         */
        RunShape: {
            id: string;
            title: string;
            sessionTitle: string;
            agentId: string;
            sessionKey: string;
            sessionId: string | null;
            generation: number | null;
            deliverySessionKey: string | null;
            /** @enum {unknown} */
            state: "cancelled" | "completed" | "failed" | "queued" | "running" | "waiting";
            waitingFor: ("approval" | "auth" | "input" | "tool_output") | null;
            reason: string | null;
            note: string | null;
            provenance: components["schemas"]["Provenance"];
            message: components["schemas"]["Said"];
            joinedMessageIds: string[];
            steers: string | null;
            reply: string | null;
            error: components["schemas"]["RunError"] | null;
            taskId: string | null;
            goalId: string | null;
            planId: string | null;
            autoRunId: string | null;
            runKind: ("GOAL_RUN" | "TASK_RUN") | null;
            attributes: components["schemas"]["RunAttributes"];
            parentRunId: string | null;
            childSessionKey: string | null;
            label: string | null;
            attempt: number;
            attemptsMax: number;
            nextAttemptAt: string | null;
            lastFault: components["schemas"]["LastFault"] | null;
            queuePosition: number | null;
            timeoutSeconds: number;
            deliveryInstructionProfileVersion: string | null;
            instructionsSha256: string | null;
            toolsCalled: string[];
            usage: components["schemas"]["RunUsage"];
            announce: components["schemas"]["Announced"];
            context: components["schemas"]["InjectedContext"];
            createdAt: string;
            startedAt: string | null;
            endedAt: string | null;
        };
        /**
         * RunUsage
         * @description What a run cost, as far as its gateway reports it.
         */
        RunUsage: {
            inputTokens: number;
            cachedTokens: number;
            outputTokens: number;
            totalTokens: number;
            costUsd: number | null;
        };
        /**
         * Said
         * @description The message of a run.
         */
        Said: {
            id: string;
            text: string;
            attachments: components["schemas"]["FileShape"][];
        };
        /**
         * ScheduleBody
         * @description A new schedule: which message, goal or task, in which session, and when.
         */
        ScheduleBody: {
            /** @enum {unknown} */
            type: "goal" | "message" | "task";
            /** @default null */
            targetId?: string | null;
            /** @default null */
            message?: string | null;
            cron: string;
            /** @default UTC */
            timezone?: string;
            /** @default false */
            isolated?: boolean;
            /** @default true */
            enabled?: boolean;
            /** @default -1 */
            maxExecutions?: number;
            /** @default null */
            sessionId?: string | null;
        };
        /** SchedulePage */
        SchedulePage: {
            schedules: components["schemas"]["ScheduleShape"][];
            nextCursor: string | null;
        };
        /**
         * SchedulePatch
         * @description Changes of a schedule; fields left out stay as they are. A session that is named must be the schedule's own.
         */
        SchedulePatch: {
            message?: string;
            cron?: string;
            timezone?: string;
            isolated?: boolean;
            enabled?: boolean;
            maxExecutions?: number;
            /** @default null */
            sessionId?: string | null;
        };
        /**
         * ScheduleShape
         * @description A schedule as the API and the feed show it.
         */
        ScheduleShape: {
            id: string;
            /** @enum {unknown} */
            type: "goal" | "message" | "task";
            targetId: string | null;
            cron: string;
            timezone: string;
            disabledReason: ("agent_disabled" | "exhausted" | "requested" | "session_deleted" | "target_gone" | "unknown_timezone") | null;
            maxExecutions: number;
            executionCount: number;
            nextAt: string | null;
            retryAt: string | null;
            lastAt: string | null;
            lastStatus: string | null;
            lastError: string | null;
            createdAt: string | null;
            updatedAt: string | null;
            message: string | null;
            sessionId: string;
            sessionKey: string;
            agentId: string;
            isolated: boolean;
            enabled: boolean;
            lastRunId: string | null;
        };
        /**
         * SearchMeta
         * @description Where and how the search looked; `allowedSpaceIds` is null for everything.
         */
        SearchMeta: {
            sourceSpaceId: string | null;
            resolvedFrom: string | null;
            allowedSpaceIds: string[] | null;
            gateWaitMs: number;
            durationMs: number;
            dense: boolean;
        };
        /**
         * SearchShape
         * @description Search results, best first; `mode` says whether meanings were compared, or only words.
         */
        SearchShape: {
            query: string;
            /** @enum {unknown} */
            mode: "hybrid" | "lexical";
            topics: components["schemas"]["TopicHit"][];
            tasks: components["schemas"]["TaskHit"][];
            logs: components["schemas"]["LogHit"][];
            notes: components["schemas"]["LogHit"][];
            matchedTopicIds: string[];
            matchedTaskIds: string[];
            matchedLogIds: string[];
            searchMeta: components["schemas"]["SearchMeta"];
        };
        /**
         * Seen
         * @description How far somebody has read a thread.
         */
        Seen: {
            kind: string;
            id: string;
            seq: number;
            at: string | null;
        };
        /**
         * SeenBody
         * @description The number of the newest message that was read.
         */
        SeenBody: {
            seq: number;
        };
        /**
         * SeenSessions
         * @description The visibility of the session's agent, and the keys of the sessions it sees, most recently used first.
         */
        SeenSessions: {
            /** @enum {unknown} */
            mode: "agent" | "all" | "self" | "tree";
            keys: string[];
        };
        /**
         * Series
         * @description One metric over time.
         */
        Series: {
            name: string;
            labels: {
                [key: string]: string;
            };
            points: [
                string | null,
                number
            ][];
        };
        /** SeriesAnswer */
        SeriesAnswer: {
            series: components["schemas"]["Series"][];
        };
        /**
         * ServerToConnect
         * @description A server, the model to use there, the dialect, and the name of the gateway that it becomes.
         */
        ServerToConnect: {
            server: string;
            /** @default  */
            key?: string;
            model: string;
            /** @default null */
            kind?: string | null;
            /** @default default */
            gateway?: string;
        };
        /**
         * ServerToProbe
         * @description A server by its name or URL; without a key, the one that the server has for this address is used.
         */
        ServerToProbe: {
            server: string;
            /** @default  */
            key?: string;
        };
        /** ServersAnswer */
        ServersAnswer: {
            servers: components["schemas"]["KnownServer"][];
        };
        /**
         * SessionAccess
         * @description What a session may read; `chain` are the memory scopes of its next run, narrowest first.
         */
        SessionAccess: {
            chain: string[];
            spaceIds: string[];
            recall: components["schemas"]["SessionRecall"];
            visibility: components["schemas"]["SeenSessions"];
            blocked: components["schemas"]["BlockedCalls"][];
        };
        /**
         * SessionIdentity
         * @description The two parts that identify a session besides its agent.
         */
        SessionIdentity: {
            channelType: string;
            conversationKey: string;
        };
        /**
         * SessionList
         * @description A page of sessions, newest first.
         */
        SessionList: {
            count: number;
            sessions: components["schemas"]["SessionShape"][];
            visibility: components["schemas"]["carrel.surfaces.api.sessions.reads.Visibility"];
            nextCursor: string | null;
        };
        /**
         * SessionMessage
         * @description A message to a session, and how long to wait for the reply.
         */
        SessionMessage: {
            message: string;
            /** @default 0 */
            timeoutSeconds?: number;
            /** @default false */
            steer?: boolean;
        };
        /**
         * SessionNamed
         * @description A session by its id and its key.
         */
        SessionNamed: {
            sessionId: string;
            sessionKey: string;
        };
        /**
         * SessionPatch
         * @description Changes of a session; null inherits, fields left out stay as they are.
         *
         *         `title` is another name for `displayName`: it renames the session, and null brings back its automatic title.
         */
        SessionPatch: {
            label?: string | null;
            displayName?: string | null;
            recall?: ("own" | "space") | null;
            sendPolicy?: ("allow" | "deny") | null;
            model?: string | null;
            thinkingLevel?: ("high" | "low" | "medium" | "minimal" | "off") | null;
            verboseLevel?: string | null;
            title?: string | null;
            pinned?: boolean;
        };
        /**
         * SessionRecall
         * @description What a session recalls, what decided that, and whether what is said in it is on the board.
         */
        SessionRecall: {
            /** @enum {unknown} */
            recall: "own" | "space";
            /** @enum {unknown} */
            chosenBy: "account" | "agent" | "board" | "session" | "settings";
            onBoard: boolean;
        };
        /**
         * SessionShape
         * @description A session as every list shows it; `waitingFor` says what a run of it needs from a person before it goes on.
         */
        SessionShape: {
            key: string;
            /** @enum {unknown} */
            kind: "cron" | "group" | "hook" | "main" | "node" | "other";
            channel: string;
            displayName: string | null;
            updatedAt: number;
            sessionId: string | null;
            model: string | null;
            contextTokens: number;
            totalTokens: number;
            thinkingLevel: string | null;
            verboseLevel: string | null;
            systemSent: boolean;
            abortedLastRun: boolean;
            sendPolicy: ("allow" | "deny") | null;
            lastChannel: string | null;
            lastTo: string | null;
            transcriptPath: string | null;
            label: string | null;
            deliveryContext?: components["schemas"]["DeliveryContext"];
            messages?: components["schemas"]["MessageShape"][];
            title: string;
            pinned: boolean;
            accountId: string;
            agentId: string;
            agentSlug: string;
            sessionKey: string;
            generation: number;
            /** @enum {unknown} */
            state: "busy" | "closed" | "idle";
            /** @default null */
            waitingFor?: ("approval" | "auth" | "input") | null;
            openedAt: string | null;
            closedAt: string | null;
            closedReason: string | null;
            archivedAt: string | null;
            taskId: string | null;
            topicId: string | null;
            spawnedBy: string | null;
            sandboxed: boolean;
            /** @enum {unknown} */
            recall: "own" | "space";
            queuedRuns: number;
            deliverySessionKey: string | null;
            planMode: components["schemas"]["PlanMode"];
            contextWindow: components["schemas"]["ContextWindow"];
        };
        /** SessionsAnswer */
        SessionsAnswer: {
            sessions: components["schemas"]["SessionShape"][];
        };
        /**
         * SettingRow
         * @description One setting; a secret is shown as `set` or empty.
         */
        SettingRow: {
            name: string;
            value: unknown;
            default: unknown;
            /** @enum {unknown} */
            source: "default" | "env" | "file";
        };
        /**
         * SettingsShown
         * @description Every setting, and the file that they are read from, which need not exist.
         */
        SettingsShown: {
            file: string;
            settings: components["schemas"]["SettingRow"][];
        };
        /**
         * ShownContext
         * @description The context of a step: the block as it was sent, and each line of it explained.
         */
        ShownContext: {
            block: string;
            layers: string[];
            items: components["schemas"]["ShownItem"][];
            omitted: {
                [key: string]: number;
            };
            degraded: string | null;
        };
        /**
         * ShownItem
         * @description A line of the context as receipts explain it; its text is in the block.
         */
        ShownItem: {
            id: string;
            kind: string;
            section: string;
            scope: string;
            source: string;
            reason: string;
            score: number | null;
            chars: number;
        };
        /**
         * SignIn
         * @description A token to exchange for a cookie.
         */
        SignIn: {
            token: string;
        };
        /**
         * SpaceChange
         * @description Changes of a space; fields left out stay as they are.
         */
        SpaceChange: {
            name?: string;
            color?: string | null;
            defaultVisible?: boolean;
        };
        /** SpacePage */
        SpacePage: {
            spaces: components["schemas"]["SpaceShape"][];
            nextCursor: string | null;
        };
        /**
         * SpaceShape
         * @description A space as surfaces show it; `connectivity` says which others are visible from it.
         */
        SpaceShape: {
            id: string;
            name: string;
            color: string | null;
            defaultVisible: boolean;
            createdAt: string;
            updatedAt: string;
            connectivity: {
                [key: string]: boolean;
            };
        };
        /**
         * Spent
         * @description What was used; the dollars cover tokens with a known price, `unpriced_tokens` are the others.
         */
        Spent: {
            /** @default 0 */
            tokens?: number;
            /** @default 0 */
            usd?: number;
            /** @default 0 */
            runs?: number;
            /** @default 0 */
            unpricedTokens?: number;
        };
        /**
         * StatusBody
         * @description A status to move to: one step of the table, or `done` and others by their own rules.
         */
        StatusBody: {
            /** @enum {string} */
            status: "inbox" | "assigned" | "in_progress" | "review" | "done" | "blocked" | "archived" | "todo" | "doing";
            /** @default null */
            blockedReason?: string | null;
            /** @default null */
            expectedStatus?: ("inbox" | "assigned" | "in_progress" | "review" | "done" | "blocked" | "archived" | "todo" | "doing") | null;
        };
        /**
         * Steering
         * @description A message for a run that is at work.
         */
        Steering: {
            message: string;
        };
        /** StoppedAnswer */
        StoppedAnswer: {
            stopped: string[];
        };
        /**
         * StoppedTask
         * @description A stopped task and the runs that were cancelled.
         */
        StoppedTask: {
            task: components["schemas"]["TaskShape"];
            cancelledRuns: string[];
        };
        /**
         * SubagentRules
         * @description Which sub-agents an agent may spawn, and their limits.
         */
        SubagentRules: {
            /** @default [] */
            allowAgents?: string[];
            /** @default null */
            runTimeoutSeconds?: number | null;
            /** @default null */
            archiveAfterMinutes?: number | null;
            /** @default null */
            maxChildren?: number | null;
        };
        /**
         * SubagentsPatch
         * @description Limits of an agent's sub-agents; null inherits from the settings.
         */
        SubagentsPatch: {
            allowAgents?: string[];
            runTimeoutSeconds?: number | null;
            archiveAfterMinutes?: number | null;
            maxChildren?: number | null;
        };
        /**
         * TaskChange
         * @description Changes of a task; fields left out stay as they are. Lists replace what was there.
         *
         *         `beforeId` and `afterId` put it next to another task of its column, also together with a new status. `position` is
         *         its rank there; `sortIndex` is another name for it.
         */
        TaskChange: {
            title?: string;
            description?: string;
            /** @enum {string} */
            status?: "inbox" | "assigned" | "in_progress" | "review" | "done" | "blocked" | "archived" | "todo" | "doing";
            /** @default null */
            expectedStatus?: ("inbox" | "assigned" | "in_progress" | "review" | "done" | "blocked" | "archived" | "todo" | "doing") | null;
            blockedReason?: string | null;
            priority?: number | ("critical" | "high" | "medium" | "low" | "lowest");
            tags?: string[];
            labels?: string[];
            topicId?: string | null;
            spaceId?: string;
            parentId?: string | null;
            dependencies?: string[];
            assignedAgentIds?: string[];
            assignedUserIds?: string[];
            dueDate?: string | null;
            snoozedUntil?: string | null;
            pinned?: boolean;
            color?: string | null;
            sortIndex?: number;
            position?: number;
            beforeId?: string;
            afterId?: string;
            metadata?: Record<string, never>;
        };
        /**
         * TaskHistory
         * @description A task with its messages, oldest first, and its activities, newest first.
         */
        TaskHistory: {
            task: components["schemas"]["TaskShape"];
            messages: components["schemas"]["ThreadMessage"][];
            activities: components["schemas"]["Activity"][];
            meta: components["schemas"]["AppliedLimits"];
        };
        /**
         * TaskHit
         * @description A task that was found.
         */
        TaskHit: {
            id: string;
            spaceId: string;
            description: string;
            status: string;
            pinned: boolean;
            digest: string | null;
            createdAt: string;
            updatedAt: string;
            score: number;
            reason: components["schemas"]["HitReason"];
            topicId: string | null;
            title: string;
            priority: number;
        };
        /** TaskIdAnswer */
        TaskIdAnswer: {
            taskId: string;
        };
        /** TaskPage */
        TaskPage: {
            tasks: components["schemas"]["TaskShape"][];
            nextCursor: string | null;
        };
        /**
         * TaskShape
         * @description A task.
         */
        TaskShape: {
            id: string;
            spaceId: string;
            topicId: string | null;
            goalId: string | null;
            planId: string | null;
            parentId: string | null;
            taskIndex: number | null;
            title: string;
            description: string;
            /** @enum {unknown} */
            status: "archived" | "assigned" | "blocked" | "done" | "in_progress" | "inbox" | "review";
            blockedReason: string | null;
            priority: number;
            tags: string[];
            dueDate: string | null;
            snoozedUntil: string | null;
            pinned: boolean;
            color: string | null;
            sortIndex: number;
            digest: string | null;
            digestUpdatedAt: string | null;
            metadata: Record<string, never>;
            /** @enum {unknown} */
            createdBy: "agent" | "classifier" | "import" | "user" | "webhook";
            createdAt: string;
            updatedAt: string;
            lastMessageAt: string | null;
            archivedAt: string | null;
            dependencies: string[];
            /** @enum {unknown} */
            boardStatus: "archived" | "blocked" | "doing" | "done" | "todo";
            priorityLabel: string;
            assignedUserIds: string[];
            assignedAgentIds: string[];
            position: number;
        };
        /**
         * TextBlock
         * @description Text.
         */
        TextBlock: {
            /** @enum {unknown} */
            type: "text";
            text: string;
        };
        /**
         * Thread
         * @description A part of a thread, oldest first, who has read it, and who is working on an answer.
         */
        Thread: {
            messages: components["schemas"]["ThreadMessage"][];
            seenBy: components["schemas"]["Seen"][];
            typing: components["schemas"]["Typing"][];
        };
        /**
         * ThreadMessage
         * @description One message of a task's thread.
         */
        ThreadMessage: {
            id: string;
            seq: number;
            role: string;
            authorKind: string;
            authorId: string;
            authorName: string;
            content: string;
            mentions: components["schemas"]["MentionShape"][];
            attachments: components["schemas"]["FileShape"][];
            runId: string | null;
            createdAt: string;
        };
        /** TokenPage */
        TokenPage: {
            tokens: components["schemas"]["TokenShape"][];
            nextCursor: string | null;
        };
        /**
         * TokenShape
         * @description A token without its secret.
         */
        TokenShape: {
            id: string;
            /** @enum {unknown} */
            kind: "agent" | "client" | "owner" | "run" | "user";
            name: string;
            agentId: string | null;
            userId: string | null;
            agentIds: string[];
            spaceIds: string[];
            createdAt: string | null;
            lastUsedAt: string | null;
            expiresAt: string | null;
        };
        /**
         * ToolCallBlock
         * @description A tool call that an agent made.
         */
        ToolCallBlock: {
            /** @enum {unknown} */
            type: "toolCall";
            id: string;
            name: string;
            arguments: unknown;
        };
        /**
         * ToolResultBlock
         * @description The result of a tool call; `outcome` says whether the call was refused, or made and failed.
         */
        ToolResultBlock: {
            /** @enum {unknown} */
            type: "toolResult";
            toolCallId: string;
            name: string;
            text: string;
            /** @enum {unknown} */
            outcome: "done" | "failed" | "refused";
        };
        /**
         * ToolRules
         * @description Which tools an agent may use; `deny` wins.
         */
        ToolRules: {
            /**
             * @default [
             *       "*"
             *     ]
             */
            allow?: string[];
            /** @default [] */
            deny?: string[];
            /** @default [] */
            ask?: string[];
        };
        /**
         * ToolsPatch
         * @description Which tools an agent is offered.
         */
        ToolsPatch: {
            allow?: string[];
            deny?: string[];
            ask?: string[];
        };
        /**
         * TopicBody
         * @description A topic to be made or, where its id is known, changed; only the name is required.
         */
        TopicBody: {
            name: string;
            description?: string;
            /** @enum {unknown} */
            status?: "active" | "archived" | "snoozed";
            snoozedUntil?: string | null;
            priority?: number | ("critical" | "high" | "medium" | "low" | "lowest");
            tags?: string[];
            spaceId?: string;
            parentId?: string | null;
            pinned?: boolean;
            color?: string | null;
            sortIndex?: number;
            /** @default null */
            id?: string | null;
            /**
             * @default user
             * @enum {unknown}
             */
            createdBy?: "import" | "user";
        };
        /**
         * TopicChange
         * @description Changes of a topic; fields left out stay as they are. Tags replace what was there.
         */
        TopicChange: {
            name?: string;
            description?: string;
            /** @enum {unknown} */
            status?: "active" | "archived" | "snoozed";
            snoozedUntil?: string | null;
            priority?: number | ("critical" | "high" | "medium" | "low" | "lowest");
            tags?: string[];
            spaceId?: string;
            parentId?: string | null;
            pinned?: boolean;
            color?: string | null;
            sortIndex?: number;
        };
        /**
         * TopicHit
         * @description A topic that was found.
         */
        TopicHit: {
            id: string;
            spaceId: string;
            description: string;
            status: string;
            pinned: boolean;
            digest: string | null;
            createdAt: string;
            updatedAt: string;
            score: number;
            reason: components["schemas"]["HitReason"];
            name: string;
        };
        /**
         * TopicMerge
         * @description Topics that are merged into another.
         */
        TopicMerge: {
            topicIds: string[];
        };
        /**
         * TopicOrder
         * @description Topics in their new order.
         */
        TopicOrder: {
            orderedIds: string[];
        };
        /** TopicPage */
        TopicPage: {
            topics: components["schemas"]["TopicShape"][];
            nextCursor: string | null;
        };
        /**
         * TopicShape
         * @description A topic as surfaces show it.
         */
        TopicShape: {
            id: string;
            spaceId: string;
            name: string;
            description: string;
            /** @enum {unknown} */
            status: "active" | "archived" | "snoozed";
            snoozedUntil: string | null;
            priority: number;
            tags: string[];
            parentId: string | null;
            pinned: boolean;
            color: string | null;
            sortIndex: number;
            digest: string | null;
            digestUpdatedAt: string | null;
            mergedFrom: components["schemas"]["Merged"][];
            /** @enum {unknown} */
            createdBy: "agent" | "classifier" | "import" | "user";
            createdAt: string;
            updatedAt: string;
        };
        /**
         * TopicSplit
         * @description Entries of a topic that get one of their own, and its name; by default it is named after the first of them.
         */
        TopicSplit: {
            entryIds: string[];
            /** @default null */
            name?: string | null;
        };
        /**
         * TurnBody
         * @description How many entries to begin with at most.
         */
        TurnBody: {
            /** @default null */
            limit?: number | null;
        };
        /**
         * Typing
         * @description An agent that is working on an answer.
         */
        Typing: {
            agentId: string;
            runId: string;
            since: string | null;
        };
        /**
         * Usage
         * @description What runs used; `costUsd` is null if neither a gateway nor the settings give a price.
         */
        Usage: {
            /** @default 0 */
            runs?: number;
            /** @default 0 */
            inputTokens?: number;
            /** @default 0 */
            cachedTokens?: number;
            /** @default 0 */
            outputTokens?: number;
            /** @default 0 */
            costUsd?: number | null;
            /** @default 0 */
            seconds?: number;
        };
        /**
         * UsageReport
         * @description Usage, most tokens first, days in order; `more` means that there are more rows.
         */
        UsageReport: {
            usage: components["schemas"]["UsageRow"][];
            total: components["schemas"]["Usage"];
            more: boolean;
        };
        /**
         * UsageRow
         * @description The usage of one day, agent, model, task or session, or a combination; `title` names the last.
         */
        UsageRow: {
            /** @default 0 */
            runs?: number;
            /** @default 0 */
            inputTokens?: number;
            /** @default 0 */
            cachedTokens?: number;
            /** @default 0 */
            outputTokens?: number;
            /** @default 0 */
            costUsd?: number | null;
            /** @default 0 */
            seconds?: number;
            day?: string;
            agentId?: string;
            model?: string;
            taskId?: string | null;
            sessionKey?: string;
            title?: string;
        };
        /**
         * UserChange
         * @description Changes of a user.
         */
        UserChange: {
            name?: string;
            slug?: string;
            email?: string | null;
            /** @enum {unknown} */
            role?: "member" | "owner";
        };
        /** UserPage */
        UserPage: {
            users: components["schemas"]["UserShape"][];
            nextCursor: string | null;
        };
        /**
         * UserShape
         * @description A user of the account.
         */
        UserShape: {
            id: string;
            name: string;
            slug: string;
            email: string | null;
            /** @enum {unknown} */
            role: "member" | "owner";
            createdAt: string | null;
        };
        /**
         * Waited
         * @description The result of waiting for a run.
         */
        Waited: {
            runId: string;
            /** @enum {unknown} */
            status: "accepted" | "error" | "ok" | "timeout";
            reply?: string;
            error?: string;
            sessionKey?: string;
        };
        /**
         * WaitingCounts
         * @description How many runs wait for a person, and how many for the program that sent their message.
         */
        WaitingCounts: {
            person: number;
            program: number;
        };
        /**
         * WakeText
         * @description A text for an agent's main lane.
         */
        WakeText: {
            text: string;
            /** @default null */
            agentId?: string | null;
        };
        /** WebhookPage */
        WebhookPage: {
            webhooks: components["schemas"]["WebhookShape"][];
            nextCursor: string | null;
        };
        /**
         * WebhookShape
         * @description A webhook: where programs post to, what it does, and how that went.
         *
         *         `refused` counts deliveries without a valid signature since the server started; nothing else is kept of them.
         */
        WebhookShape: {
            name: string;
            /** @enum {unknown} */
            kind: "github" | "json" | "linear" | "slack";
            address: string;
            /** @enum {unknown} */
            action: "message" | "task";
            target: string;
            events: string[];
            done: number;
            ignored: number;
            failed: number;
            lastReceivedAt: string | null;
            refused: number;
            refusedReason: string | null;
            refusedAt: string | null;
        };
        /**
         * WebhookTest
         * @description An event and a body to try; by default, what the program usually sends.
         */
        WebhookTest: {
            /** @default null */
            event?: string | null;
            /** @default null */
            payload?: Record<string, never> | null;
        };
        /**
         * Why
         * @description Whether a run is moving, and if not, why.
         */
        Why: {
            moving: boolean;
            reasons: components["schemas"]["Reason"][];
        };
        /**
         * WorkingSet
         * @description What is being worked on.
         */
        WorkingSet: {
            topics: components["schemas"]["ContextRow"][];
            tasks: components["schemas"]["ContextRow"][];
        };
        /**
         * Receipt
         * @description What a run was shown, step by step.
         */
        "carrel.delivery.receipts.Receipt": {
            runId: string;
            sessionKey: string;
            generation: number | null;
            deliverySessionKey: string | null;
            steps: components["schemas"]["ReceiptStep"][];
        };
        /** OneGoal */
        "carrel.surfaces.api.endpoint.OneGoal": {
            goal: components["schemas"]["GoalShape"];
        };
        /** OneLog */
        "carrel.surfaces.api.endpoint.OneLog": {
            log: components["schemas"]["LogShape"];
        };
        /** OneMemory */
        "carrel.surfaces.api.endpoint.OneMemory": {
            item: components["schemas"]["MemoryShape"];
        };
        /** OneTask */
        "carrel.surfaces.api.endpoint.OneTask": {
            task: components["schemas"]["TaskShape"];
        };
        /**
         * Accepted
         * @description How many entries will be stored, and an id for each.
         */
        "carrel.surfaces.api.log.Accepted": {
            accepted: number;
            ingestIds: string[];
        };
        /**
         * Accepted
         * @description The message is stored and its run is queued; `steers` names the run that it joins at the next step, if any.
         */
        "carrel.surfaces.api.runs.Accepted": {
            runId: string;
            sessionKey: string;
            /** @enum {unknown} */
            status: "accepted";
            steers?: string;
        };
        /**
         * Visibility
         * @description Whose sessions the list shows, and whether there are others.
         */
        "carrel.surfaces.api.sessions.reads.Visibility": {
            /** @enum {unknown} */
            mode: "agent" | "all" | "self" | "tree";
            hidden: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    show_account: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneAccount"];
                };
            };
        };
    };
    update_account: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AccountChange"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneAccount"];
                };
            };
        };
    };
    list_accounts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountPage"];
                };
            };
        };
    };
    create_account: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAccount"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewAccountAnswer"];
                };
            };
        };
    };
    list_agents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentPage"];
                };
            };
        };
    };
    create_agent: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAgent"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneAgent"];
                };
            };
        };
    };
    show_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneAgent"];
                };
            };
        };
    };
    delete_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneAgent"];
                };
            };
        };
    };
    update_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AgentPatch"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneAgent"];
                };
            };
        };
    };
    preview_agent_prompt: {
        parameters: {
            query?: {
                profile?: "chat" | "heartbeat" | "subagent" | "task";
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PromptPreview"];
                };
            };
        };
    };
    download_artifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
        };
    };
    upload_attachment: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** Format: binary */
                    file: string;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneFile"];
                };
            };
        };
    };
    download_attachment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
        };
    };
    show_me: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    begin_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneActor"];
                };
            };
        };
    };
    end_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_auto_runs: {
        parameters: {
            query?: {
                sessionId?: string;
                includeEnded?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AutoRunList"];
                };
            };
        };
    };
    show_auto_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneAuto"];
                };
            };
        };
    };
    start_auto_run: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AutoStart"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneAuto"];
                };
            };
        };
    };
    stop_auto_runs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AutoStop"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoppedAnswer"];
                };
            };
        };
    };
    list_budgets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BudgetPage"];
                };
            };
        };
    };
    make_budget: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BudgetBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneBudget"];
                };
            };
        };
    };
    delete_budget: {
        parameters: {
            query: {
                name: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    allow_budget: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AllowBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneBudget"];
                };
            };
        };
    };
    list_changes: {
        parameters: {
            query?: {
                sessionKey?: string;
                spaceId?: string;
                allowedSpaceIds?: string;
                sinceSeq?: number;
                since?: string;
                limit?: number;
                includeRaw?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changes"];
                };
            };
        };
    };
    post_chat: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatLine"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandAnswer"];
                };
            };
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatAccepted"];
                };
            };
        };
    };
    list_pending: {
        parameters: {
            query?: {
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogsAnswer"];
                };
            };
        };
    };
    replay: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayBody"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CycleIdAnswer"];
                };
            };
        };
    };
    run_classifier: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TurnBody"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CycleIdAnswer"];
                };
            };
        };
    };
    show_routing: {
        parameters: {
            query: {
                sessionKey: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoutingShown"];
                };
            };
        };
    };
    send_routing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RoutingBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoutingShown"];
                };
            };
        };
    };
    show_status: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClassifierStatus"];
                };
            };
        };
    };
    list_commands: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandsAnswer"];
                };
            };
        };
    };
    show_context: {
        parameters: {
            query?: {
                q?: string;
                form?: "clawboard" | "run";
                sessionKey?: string;
                spaceId?: string;
                allowedSpaceIds?: string;
                mode?: string;
                includePending?: boolean;
                recall?: "own" | "space";
                maxChars?: number;
                workingSetLimit?: number;
                timelineLimit?: number;
                topicLimit?: number;
                taskLimit?: number;
                logLimit?: number;
                withoutKeys?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContextShape"];
                };
            };
        };
    };
    run_digests: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DigestsBody"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CycleIdAnswer"];
                };
            };
        };
    };
    list_goals: {
        parameters: {
            query?: {
                sessionId?: string;
                limit?: number;
                cursor?: string;
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GoalPage"];
                };
            };
        };
    };
    create_goal: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GoalBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneGoal"];
                };
            };
        };
    };
    show_goal: {
        parameters: {
            query?: {
                sessionId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneGoal"];
                };
            };
        };
    };
    remove_goal: {
        parameters: {
            query?: {
                sessionId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patch_goal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["GoalPatch"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneGoal"];
                };
            };
        };
    };
    finish_goal: {
        parameters: {
            query?: {
                sessionId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneGoal"];
                };
            };
        };
    };
    show_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    hook_agent: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HookMessage"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuedRun"];
                };
            };
        };
    };
    hook_claude: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaudeEvent"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaudeAnswer"];
                };
            };
        };
    };
    list_webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookPage"];
                };
            };
        };
    };
    list_deliveries: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                webhook?: string;
                outcome?: "done" | "failed" | "ignored";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryPage"];
                };
            };
        };
    };
    get_delivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneDeliveryDetail"];
                };
            };
        };
    };
    redeliver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneDelivery"];
                };
            };
        };
    };
    receive_delivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description sha256= and the HMAC-SHA256 of the body in hex; GitHub, Linear and Slack have their own headers. */
                "X-Carrel-Signature"?: string;
                /** @description The program's own id of the delivery; without it, the same body is the same delivery. */
                "X-Carrel-Delivery"?: string;
                /** @description What has happened, in a word; the settings may name the events that are taken up. */
                "X-Carrel-Event"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryAccepted"];
                };
            };
        };
    };
    try_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WebhookTest"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OnePreview"];
                };
            };
        };
    };
    hook_wake: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WakeText"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuedRun"];
                };
            };
        };
    };
    ingest: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["IngestBody"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.log.Accepted"];
                };
            };
        };
    };
    list_log: {
        parameters: {
            query?: {
                sessionKey?: string;
                spaceId?: string;
                allowedSpaceIds?: string;
                includeRaw?: boolean;
                topicId?: string;
                taskId?: string;
                runId?: string;
                relatedLogId?: string;
                classificationStatus?: "classified" | "failed" | "pending";
                limit?: number;
                cursor?: string;
                type?: "action" | "conversation" | "import" | "note" | "system";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                };
            };
        };
    };
    send_log: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LogBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnownLog"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneLog"];
                };
            };
        };
    };
    show_log: {
        parameters: {
            query?: {
                includeRaw?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneLog"];
                };
            };
        };
    };
    remove_log: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patch_log: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LogChange"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneLog"];
                };
            };
        };
    };
    list_mcp_servers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpServerShownPage"];
                };
            };
        };
    };
    test_mcp_server: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneMcpServerShown"];
                };
            };
        };
    };
    list_memory: {
        parameters: {
            query?: {
                sessionId?: string;
                goalId?: string;
                taskId?: string;
                scope?: string;
                agentId?: string;
                type?: "constraint" | "decision" | "fact" | "failure" | "fix" | "preference" | "result" | "task_state";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryList"];
                };
            };
        };
    };
    keep_memory: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemoryBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneMemory"];
                };
            };
        };
    };
    search_memory: {
        parameters: {
            query: {
                sessionId?: string;
                goalId?: string;
                taskId?: string;
                q: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundMemories"];
                };
            };
        };
    };
    forget_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patch_memory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["MemoryChange"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneMemory"];
                };
            };
        };
    };
    promote_memory: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PromoteBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PromotedMemory"];
                };
            };
        };
    };
    list_reads: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadsAnswer"];
                };
            };
        };
    };
    show_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetricsAnswer"];
                };
            };
        };
    };
    show_history: {
        parameters: {
            query?: {
                names?: string;
                minutes?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SeriesAnswer"];
                };
            };
        };
    };
    connect_model: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ServerToConnect"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reloaded"];
                };
            };
        };
    };
    probe_model_server: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ServerToProbe"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Found"];
                };
            };
        };
    };
    list_model_servers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServersAnswer"];
                };
            };
        };
    };
    list_notes: {
        parameters: {
            query?: {
                sessionKey?: string;
                spaceId?: string;
                allowedSpaceIds?: string;
                includeRaw?: boolean;
                topicId?: string;
                taskId?: string;
                runId?: string;
                relatedLogId?: string;
                classificationStatus?: "classified" | "failed" | "pending";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                };
            };
        };
    };
    send_note: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NotesBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnownLog"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneLog"];
                };
            };
        };
    };
    list_notifications: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                unread?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationList"];
                };
            };
        };
    };
    mark_all_as_read: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadAnswer"];
                };
            };
        };
    };
    mark_as_read: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneNotification"];
                };
            };
        };
    };
    show_document: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    open_orchestrator_chat: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskIdAnswer"];
                };
            };
        };
    };
    show_plans: {
        parameters: {
            query?: {
                sessionId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanStateShape"];
                };
            };
        };
    };
    disable: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ModeBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanStateShape"];
                };
            };
        };
    };
    enable: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ModeBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanStateShape"];
                };
            };
        };
    };
    show_plan: {
        parameters: {
            query?: {
                sessionId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OnePlan"];
                };
            };
        };
    };
    write: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PlanBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OnePlan"];
                };
            };
        };
    };
    approve_one: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OfSession"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OnePlan"];
                };
            };
        };
    };
    cancel_one: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OfSession"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OnePlan"];
                };
            };
        };
    };
    resume_one: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OfSession"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OnePlan"];
                };
            };
        };
    };
    reindex: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReindexBody"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reindexing"];
                };
            };
        };
    };
    list_runs: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                sessionKey?: string;
                agentId?: string;
                taskId?: string;
                goalId?: string;
                autoRunId?: string;
                state?: "cancelled" | "completed" | "failed" | "queued" | "running" | "waiting";
                waitingFor?: "person" | "program";
                provenance?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPage"];
                };
            };
        };
    };
    start_run: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRun"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.runs.Accepted"];
                };
            };
        };
    };
    read_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneRun"];
                };
            };
        };
    };
    advance_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneRun"];
                };
            };
        };
    };
    allow_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneRun"];
                };
            };
        };
    };
    announce_again: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneRun"];
                };
            };
        };
    };
    answer_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Answered"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneRun"];
                };
            };
        };
    };
    list_artifacts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactsAnswer"];
                };
            };
        };
    };
    cancel_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneRun"];
                };
            };
        };
    };
    read_receipt: {
        parameters: {
            query?: {
                body?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.delivery.receipts.Receipt"];
                };
            };
        };
    };
    compare_with: {
        parameters: {
            query: {
                with: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comparison"];
                };
            };
        };
    };
    replay_run: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewReplay"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Replayed"];
                };
            };
        };
    };
    retry_run: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Retried"];
                };
            };
        };
    };
    steer_run: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Steering"];
            };
        };
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.runs.Accepted"];
                };
            };
        };
    };
    wait_for_run: {
        parameters: {
            query?: {
                timeoutSeconds?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Waited"];
                };
            };
        };
    };
    why_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Why"];
                };
            };
        };
    };
    list_schedules: {
        parameters: {
            query?: {
                sessionId?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePage"];
                };
            };
        };
    };
    create_schedule: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSchedule"];
                };
            };
        };
    };
    show_schedule: {
        parameters: {
            query?: {
                sessionId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSchedule"];
                };
            };
        };
    };
    delete_schedule: {
        parameters: {
            query?: {
                sessionId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patch_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SchedulePatch"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSchedule"];
                };
            };
        };
    };
    run_schedule: {
        parameters: {
            query?: {
                sessionId?: string;
            };
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FiredSchedule"];
                };
            };
        };
    };
    search_board: {
        parameters: {
            query: {
                q: string;
                sessionKey?: string;
                topicId?: string;
                spaceId?: string;
                allowedSpaceIds?: string;
                includePending?: boolean;
                limitTopics?: number;
                limitTasks?: number;
                limitLogs?: number;
                limitNotes?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchShape"];
                };
            };
        };
    };
    list_sessions: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                q?: string;
                archived?: boolean;
                pinned?: boolean;
                kinds?: string;
                agentId?: string;
                taskId?: string;
                spawnedBy?: string;
                channel?: string;
                state?: "busy" | "closed" | "idle";
                activeMinutes?: number;
                messageLimit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
        };
    };
    make_session: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewSession"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionNamed"];
                };
            };
        };
    };
    read_active: {
        parameters: {
            query?: {
                channelType?: "cli" | "telegram" | "web";
                clientInstanceId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActiveSession"];
                };
            };
        };
    };
    choose_active: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ActiveChoice"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActiveSession"];
                };
            };
        };
    };
    read_recent: {
        parameters: {
            query?: {
                channelType?: "cli" | "telegram" | "web";
                clientInstanceId?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsAnswer"];
                };
            };
        };
    };
    read_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSession"];
                };
            };
        };
    };
    delete_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patch_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SessionPatch"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSession"];
                };
            };
        };
    };
    read_access: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionAccess"];
                };
            };
        };
    };
    archive_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSession"];
                };
            };
        };
    };
    fork_session: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewFork"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionNamed"];
                };
            };
        };
    };
    read_generations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsAnswer"];
                };
            };
        };
    };
    read_history: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                includeTools?: boolean;
                runId?: string;
            };
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
        };
    };
    read_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Queue"];
                };
            };
        };
    };
    reset_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResetSession"];
                };
            };
        };
    };
    send_to_session: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionMessage"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Waited"];
                };
            };
            /** @description Accepted and stored. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Waited"];
                };
            };
        };
    };
    stop_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelledRunsAnswer"];
                };
            };
        };
    };
    unarchive_session: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RestoredSession"];
                };
            };
        };
    };
    show_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingsShown"];
                };
            };
        };
    };
    reload_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reloaded"];
                };
            };
        };
    };
    list_spaces: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpacePage"];
                };
            };
        };
    };
    create_space: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSpace"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSpace"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSpace"];
                };
            };
        };
    };
    read_allowed: {
        parameters: {
            query: {
                spaceId: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllowedSpaces"];
                };
            };
        };
    };
    delete_space: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    update_space: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SpaceChange"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSpace"];
                };
            };
        };
    };
    update_connectivity: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Connections"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneSpace"];
                };
            };
        };
    };
    follow: {
        parameters: {
            query?: {
                sessionKey?: string;
                spaceId?: string;
                allowedSpaceIds?: string;
                sessionId?: string;
                taskId?: string;
                topicId?: string;
                events?: string;
                lastEventId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
        };
    };
    list_all_tasks: {
        parameters: {
            query?: {
                status?: "inbox" | "assigned" | "in_progress" | "review" | "done" | "blocked" | "archived" | "todo" | "doing";
                topicId?: string;
                goalId?: string;
                planId?: string;
                assigneeId?: string;
                tag?: string;
                pinned?: boolean;
                includeArchived?: boolean;
                relatedTo?: string;
                sessionKey?: string;
                spaceId?: string;
                allowedSpaceIds?: string;
                sort?: "newest" | "position";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
        };
    };
    create_new_task: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTask"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneTask"];
                };
            };
        };
    };
    reorder_board: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OrderBody"];
            };
        };
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    read_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneTask"];
                };
            };
        };
    };
    delete_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneTask"];
                };
            };
        };
    };
    patch_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TaskChange"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneTask"];
                };
            };
        };
    };
    assign_to_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AssignBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneTask"];
                };
            };
        };
    };
    read_task_history: {
        parameters: {
            query?: {
                messageLimit?: number;
                activityLimit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskHistory"];
                };
            };
        };
    };
    post_to_thread: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessageBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Posted"];
                };
            };
        };
    };
    reopen_done_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["carrel.surfaces.api.endpoint.OneTask"];
                };
            };
        };
    };
    mark_thread_read: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SeenBody"];
            };
        };
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_task_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsAnswer"];
                };
            };
        };
    };
    set_task_status: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StatusBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MovedTask"];
                };
            };
        };
    };
    stop_all_of_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoppedTask"];
                };
            };
        };
    };
    read_task_thread: {
        parameters: {
            query?: {
                limit?: number;
                before?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Thread"];
                };
            };
        };
    };
    why_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Why"];
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPage"];
                };
            };
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTokenBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewTokenAnswer"];
                };
            };
        };
    };
    delete_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_all_topics: {
        parameters: {
            query?: {
                sessionKey?: string;
                spaceId?: string;
                allowedSpaceIds?: string;
                status?: "active" | "archived" | "snoozed";
                tag?: string;
                pinned?: boolean;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopicPage"];
                };
            };
        };
    };
    create_topic: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TopicBody"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneTopic"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneTopic"];
                };
            };
        };
    };
    reorder_all_topics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TopicOrder"];
            };
        };
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    read_topic: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneTopic"];
                };
            };
        };
    };
    delete_topic: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    update_topic: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TopicChange"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneTopic"];
                };
            };
        };
    };
    merge_into_topic: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TopicMerge"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneTopic"];
                };
            };
        };
    };
    split_from_topic: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TopicSplit"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneTopic"];
                };
            };
        };
    };
    read_topic_thread: {
        parameters: {
            query?: {
                limit?: number;
                before?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Thread"];
                };
            };
        };
    };
    read_usage: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                by?: string;
                agentId?: string;
                taskId?: string;
                sessionKey?: string;
                model?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageReport"];
                };
            };
        };
    };
    list_users: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
        };
    };
    create_user: {
        parameters: {
            query?: never;
            header?: {
                "X-Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneUser"];
                };
            };
        };
    };
    delete_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the response has no body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    update_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UserChange"];
            };
        };
        responses: {
            /** @description The request succeeded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneUser"];
                };
            };
        };
    };
}
