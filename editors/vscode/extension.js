// Starts `rml lsp`, and carries out in a terminal what stands above each node: run, trace, train.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const command = vscode.workspace.getConfiguration("rml").get("path");
  const options = {
    documentSelector: [{ language: "rml" }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.rml") },
  };
  client = new LanguageClient("rml", "R(ML)²", { command, args: ["lsp"] }, options);
  try {
    await client.start();
  } catch (error) {
    const chosen = await vscode.window.showErrorMessage(
      `\`${command} lsp\` does not start (${error.message ?? error}). The setting rml.path names the command.`,
      "Open the setting",
    );
    if (chosen) {
      vscode.commands.executeCommand("workbench.action.openSettings", "rml.path");
    }
  }
}

// The arguments that were given to a command last.
const last = { run: "--cycles 10", trace: "--cycles 10", train: "--data data.npz --epochs 10" };

async function inTerminal(name, { file, node }) {
  const given = await vscode.window.showInputBox({
    title: `rml ${name} --node ${node}`,
    prompt: "Other arguments: data, cycles, epochs",
    value: last[name],
  });
  if (given === undefined) {
    return;
  }
  last[name] = given;
  const terminals = vscode.window.terminals.filter((t) => t.name === "rml" && t.exitStatus === undefined);
  const terminal = terminals[0] ?? vscode.window.createTerminal("rml");
  terminal.show();
  const command = vscode.workspace.getConfiguration("rml").get("path");
  const quoted = (text) => (/^[\w./\\:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  terminal.sendText(`${quoted(command)} ${name} ${quoted(file)} --node ${node} ${given}`);
}

async function activate(context) {
  for (const name of ["run", "trace", "train"]) {
    context.subscriptions.push(vscode.commands.registerCommand(`rml.${name}`, (node) => inTerminal(name, node)));
  }
  const restart = async () => {
    await client?.stop();
    await start();
  };
  context.subscriptions.push(vscode.commands.registerCommand("rml.restart", restart));
  await start();
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
