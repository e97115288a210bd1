-- Starts `rml lsp` for programs in R(ML)², and carries out in a terminal what stands above each node.
-- `vim.g.rml_command` names the command, by default `rml`.

local function start(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local config = {
    name = "rml",
    cmd = { vim.g.rml_command or "rml", "lsp" },
    root_dir = name ~= "" and vim.fn.fnamemodify(name, ":p:h") or vim.fn.getcwd(),
  }
  if vim.lsp.start then
    vim.lsp.start(config, { bufnr = buffer })
    return
  end
  -- Before Neovim 0.8.
  vim.g.rml_client = vim.g.rml_client or vim.lsp.start_client(config)
  if vim.g.rml_client then
    vim.lsp.buf_attach_client(buffer, vim.g.rml_client)
  end
end

vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, {
  pattern = "*.rml",
  callback = function(event)
    vim.bo[event.buf].filetype = "rml"
  end,
})

vim.api.nvim_create_autocmd("FileType", {
  pattern = "rml",
  callback = function(event)
    vim.bo[event.buf].commentstring = "-- %s"
    start(event.buf)
  end,
})

vim.lsp.commands = vim.lsp.commands or {}
for name, arguments in pairs({ run = "--cycles 10", trace = "--cycles 10", train = "--data data.npz" }) do
  vim.lsp.commands["rml." .. name] = function(command)
    local of = command.arguments[1]
    local given = vim.fn.input("rml " .. name .. " --node " .. of.node .. " ", arguments)
    local rml = vim.g.rml_command or "rml"
    local line = { rml, name, vim.fn.shellescape(of.file), "--node", of.node, given }
    vim.cmd("split | terminal " .. table.concat(line, " "))
  end
end
