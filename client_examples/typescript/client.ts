// A small MCP client: sends one of Remit's agents and shows its prompts in the terminal.
//
//   node client.ts [--era legacy|auto] AGENT TASK -- COMMAND [ARGUMENT ...]
//
// COMMAND starts the server, for example `remit serve --workspace .`.

import { stdin, stdout } from 'node:process';
import { createInterface } from 'node:readline';

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

type Choice = { const: string; title: string };
type Field = { title?: string; oneOf?: Choice[] };
type Refused = { agent_path: string; summary: string; reason: string };
type Report = { task_id: string; state: string; agent: string; result: string | null; error: string | null; refused: Refused[] };

const PATIENCE = { timeout: 900_000 };

const typed = createInterface({ input: stdin })[Symbol.asyncIterator]();

async function ask(text: string): Promise<string | undefined> {
    stdout.write(text);
    const line = await typed.next();
    return line.done ? undefined : line.value.trim();
}

/** Puts a form before the person, field by field. The end of the input closes it. */
async function showForm(message: string, fields: Record<string, Field>) {
    stdout.write(`\n${message}\n\n`);
    const content: Record<string, string> = {};
    for (const [name, field] of Object.entries(fields)) {
        const choices = field.oneOf ?? [];
        choices.forEach((choice, index) => stdout.write(`  ${index + 1}  ${choice.title}\n`));
        const answer = await ask(`${field.title ?? name}: `);
        if (answer === undefined) return { action: 'cancel' as const };
        const chosen = choices[Number(answer) - 1];
        if (chosen) content[name] = chosen.const;
        else if (answer && choices.length === 0) content[name] = answer;
    }
    return { action: 'accept' as const, content };
}

/** Sends the agent and stays until it has ended. */
async function send(client: Client, agent: string, task: string): Promise<Report | undefined> {
    const errand = { description: task.slice(0, 60), prompt: task, subagent_type: agent };
    let result = await client.callTool({ name: 'task', arguments: errand }, PATIENCE);
    for (;;) {
        const report = result.structuredContent as Report | undefined;
        if (report === undefined || !['running', 'waiting'].includes(report.state)) {
            if (report === undefined) stdout.write(`${JSON.stringify(result.content)}\n`);
            return report;
        }
        const again = { task_id: report.task_id, wait_seconds: 30 };
        result = await client.callTool({ name: 'task_status', arguments: again }, PATIENCE);
    }
}

function tell(report: Report): void {
    stdout.write(`\n${report.agent}, ${report.state}: ${report.result ?? report.error}\n`);
    for (const call of report.refused) {
        stdout.write(`  did not happen: ${call.agent_path}: ${call.summary} (${call.reason})\n`);
    }
}

async function main(words: string[]): Promise<number> {
    const legacy = words[0] === '--era' && words[1] === 'legacy';
    const rest = words[0] === '--era' ? words.slice(2) : words;
    const [agent, task, dashes, command, ...args] = rest;
    if (!agent || !task || dashes !== '--' || !command) {
        stdout.write('node client.ts [--era legacy|auto] AGENT TASK -- COMMAND [ARGUMENT ...]\n');
        return 2;
    }
    const client = new Client(
        { name: 'remit-terminal-client', version: '1.0.0' },
        { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: legacy ? 'legacy' : 'auto' } }
    );
    client.setRequestHandler('elicitation/create', request => {
        const params = request.params;
        if (!('requestedSchema' in params)) return { action: 'decline' as const };
        return showForm(params.message, params.requestedSchema.properties as Record<string, Field>);
    });
    await client.connect(new StdioClientTransport({ command, args, env: process.env as Record<string, string> }));
    stdout.write(`Connected, protocol ${client.getNegotiatedProtocolVersion()}.\n`);
    try {
        const report = await send(client, agent, task);
        if (report) tell(report);
        return report?.state === 'completed' ? 0 : 1;
    } finally {
        await client.close();
    }
}

const code = await main(process.argv.slice(2));
process.exit(code);
