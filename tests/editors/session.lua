-- A session of Neovim with `rml lsp`: what a person does in an editor, and what comes of it. Prints what failed, and ends with 1.

local folder = vim.fn.tempname()
vim.fn.mkdir(folder, "p")
local cells = folder .. "/cells.rml"
local net = folder .. "/net.rml"
vim.fn.writefile({ "node half(x: num []) -> (y)", "  y = x * 0.5;" }, cells)
vim.fn.writefile({
  'import "cells.rml" (half);',
  "",
  "node main(x: num [4]) -> (sum)",
  "  a = tahn(x);",
  "  sum = half(0.0 fby sum) + a[0];",
}, net)

local failed = {}
local expected = 0
local function expect(what, ok, found)
  expected = expected + 1
  if not ok then
    table.insert(failed, what .. ": " .. vim.inspect(found))
  end
end

local function main()
  vim.cmd("edit " .. net)
  local buffer = vim.api.nvim_get_current_buf()
  local function findings()
    return vim.diagnostic.get(buffer)
  end
  vim.wait(20000, function()
    return #findings() > 0
  end, 20)
  expect("an unknown name is found", #findings() == 1 and findings()[1].code == "unknown-name", findings())

  local function ask(method, line, column, more)
    local params = {
      textDocument = { uri = vim.uri_from_bufnr(buffer) },
      position = { line = line, character = column },
    }
    local answers = vim.lsp.buf_request_sync(buffer, method, vim.tbl_extend("force", params, more or {}), 20000)
    for _, answer in pairs(answers or {}) do
      return answer.result, answer.error
    end
  end

  local place = { line = 3, character = 7 }
  local range = { range = { start = place, ["end"] = place }, context = { diagnostics = {} } }
  local actions = ask("textDocument/codeAction", 3, 7, range)
  expect("it has a fix", actions and #actions == 1, actions)
  vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
  local line = vim.api.nvim_buf_get_lines(buffer, 3, 4, false)[1]
  expect("the fix is applied", line == "  a = tanh(x);", line)
  vim.wait(20000, function()
    return #findings() == 0
  end, 20)
  expect("nothing is wrong any more", #findings() == 0, findings())

  local hover
  vim.wait(20000, function()
    hover = ask("textDocument/hover", 3, 2)
    return hover and hover.contents.value:find("num %[4%]")
  end, 20)
  expect("the type is known", hover and hover.contents.value:find("num %[4%]"), hover)

  local definition = ask("textDocument/definition", 4, 9)
  expect("a definition in another file", definition and vim.uri_to_fname(definition.uri) == cells, definition)

  local edit = ask("textDocument/rename", 3, 2, { newName = "squashed" })
  vim.lsp.util.apply_workspace_edit(edit, "utf-16")
  local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
  expect("a variable is renamed", text:find("squashed = tanh") and text:find("squashed%[0%]"), text)

  vim.api.nvim_buf_set_lines(buffer, 2, 3, false, { "node  main( x:num[4] )->( sum )" })
  local edits = ask("textDocument/formatting", 0, 0, { options = { tabSize = 2, insertSpaces = true } })
  vim.lsp.util.apply_text_edits(edits, buffer, "utf-16")
  line = vim.api.nvim_buf_get_lines(buffer, 2, 3, false)[1]
  expect("the layout", line == "node main(x: num [4]) -> (sum)", line)

  local items = ask("textDocument/completion", 4, 2)
  local labels = {}
  for _, item in ipairs(items or {}) do
    labels[item.label] = true
  end
  expect("completion", labels.squashed and labels.half and labels.matmul and labels.lstm, vim.tbl_keys(labels))

  local lenses = ask("textDocument/codeLens", 0, 0)
  expect("lenses", lenses and #lenses == 3, lenses)
  local outline = ask("textDocument/documentSymbol", 0, 0)
  expect("the outline", outline and #outline == 1 and outline[1].name == "main", outline)

  -- An imported file that changes on disk behind the editor's back.
  vim.fn.writefile({ "node half(k, x: num []) -> (y)", "  y = x * k;" }, cells)
  vim.cmd("silent write")
  vim.wait(20000, function()
    return #findings() > 0
  end, 20)
  expect("what is imported changed", #findings() == 1 and findings()[1].code == "arity", findings())
end

local ok, why = xpcall(main, debug.traceback)
if not ok then
  table.insert(failed, why)
end
for _, client in pairs(vim.lsp.get_active_clients()) do
  client.stop()
  vim.wait(20000, client.is_stopped, 20)
end
for _, line in ipairs(failed) do
  io.stderr:write(line .. "\n")
end
io.stdout:write(expected - #failed .. " of " .. expected .. " expectations hold\n")
vim.cmd(#failed == 0 and "qall!" or "cquit 1")
