// The official JavaScript client, unmodified: sends, streams, reads, lists, cancels and resubscribes over every binding.
// Started by `python -m tests.conformance --js DIR`, which copies it next to the installed package; its only argument
// is the URL of the server. Works with both lines of the package: 1.x with its compatibility layer, and 0.3.x.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as clients from '@a2a-js/sdk/client';

const server = process.argv[2];
const installed = JSON.parse(await readFile(new URL('node_modules/@a2a-js/sdk/package.json', import.meta.url)));
const isOld = installed.version.startsWith('0.');
const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = clients;

const COMPLETED = isOld ? 'completed' : 3;
const CANCELED = isOld ? 'canceled' : 5;
const SECONDS_MAX = 20;
const signal = () => ({ signal: AbortSignal.timeout(SECONDS_MAX * 1000) });

function message(text, begins = 'said') {
  const messageId = `${begins}-${randomUUID()}`;
  if (isOld) return { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }] };
  const parts = [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }];
  const empty = { contextId: '', taskId: '', metadata: undefined, extensions: [], referenceTaskIds: [] };
  return { ...empty, messageId, role: 1, parts };
}

function sending(what, atOnce = false) {
  if (isOld) return { message: what, configuration: { blocking: !atOnce } };
  const configuration = { acceptedOutputModes: [], returnImmediately: atOnce };
  return { tenant: '', message: what, configuration, metadata: undefined };
}

const naming = (id) => (isOld ? { id } : { tenant: '', id });
const kindOf = (event) => event.kind ?? event.payload.$case;
const stateOf = (event) => (event.status ?? event.payload.value.status)?.state;

async function collected(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function talk(client) {
  const done = await client.sendMessage(sending(message('hello', 'tck-complete-task')), signal());
  assert.equal(done.status.state, COMPLETED, 'a sent message is answered');
  const read = await client.getTask({ ...naming(done.id), historyLength: 5 }, signal());
  assert.deepEqual([read.id, read.contextId, read.status.state], [done.id, done.contextId, COMPLETED]);
  assert.equal(read.artifacts.length, 1, 'the reply is an artifact');

  const events = await collected(client.sendMessageStream(sending(message('hello', 'tck-stream-001')), signal()));
  assert.equal(kindOf(events[0]), 'task', 'a stream begins with its task');
  assert.equal(stateOf(events.at(-1)), COMPLETED, 'and ends with its end');
  assert.ok(events.some((event) => kindOf(event).startsWith('artifact')), 'and tells of artifacts');

  const held = await client.sendMessage(sending(message('wait', 'test-resubscribe-message-id'), true), signal());
  assert.notEqual(held.status.state, COMPLETED);
  const rest = await collected(client.resubscribeTask(naming(held.id), signal()));
  assert.deepEqual([kindOf(rest[0]), stateOf(rest.at(-1))], ['task', COMPLETED], 'coming back hears the rest');

  const doomed = await client.sendMessage(sending(message('wait', 'test-resubscribe-message-id'), true), signal());
  const canceled = await client.cancelTask(isOld ? naming(doomed.id) : { ...naming(doomed.id), metadata: {} }, signal());
  assert.equal(canceled.status.state, CANCELED, 'what is worked on can be canceled');
  await assert.rejects(client.getTask(naming('run_unknown'), signal()), 'what is not there is refused');
  return done;
}

async function list(client, done) {
  const page = { tenant: '', contextId: done.contextId, status: 0, pageSize: 10, pageToken: '', includeArtifacts: false };
  const listed = await client.listTasks(page, signal());
  assert.deepEqual(listed.tasks.map((task) => task.id), [done.id], 'a context lists its tasks');
}

async function oldWays() {
  for (const transport of [new JsonRpcTransportFactory(), new RestTransportFactory()]) {
    // This line of the package requests a card without naming a version, so name it here.
    const answer = await fetch(`${server}/.well-known/agent-card.json`, { headers: { 'A2A-Version': '0.3' } });
    const factory = new ClientFactory({ transports: [transport], preferredTransports: [transport.protocolName] });
    await talk(await factory.createFromAgentCard(await answer.json()));
    console.log(`ok: @a2a-js/sdk ${installed.version}, ${transport.protocolName} 0.3`);
  }
}

async function newWays() {
  const legacyCompat = { enabled: true };
  const card = await new clients.DefaultAgentCardResolver().resolve(server);
  for (const transport of [new JsonRpcTransportFactory({ legacyCompat }), new RestTransportFactory({ legacyCompat })]) {
    for (const version of ['1.0', '0.3']) {
      const isWay = (one) => one.protocolBinding === transport.protocolName && one.protocolVersion === version;
      const supportedInterfaces = card.supportedInterfaces.filter(isWay);
      assert.equal(supportedInterfaces.length, 1, `the card offers ${transport.protocolName} ${version}`);
      const client = await new ClientFactory({ transports: [transport] }).createFromAgentCard({ ...card, supportedInterfaces });
      const done = await talk(client);
      if (version === '1.0') await list(client, done);
      console.log(`ok: @a2a-js/sdk ${installed.version}, ${transport.protocolName} ${version}`);
    }
  }
}

await (isOld ? oldWays() : newWays());
