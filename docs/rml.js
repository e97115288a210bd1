// Colours for programs: mdBook's highlighter does not know the language.
(() => {
  if (!window.hljs) return;
  hljs.registerLanguage("rml", (hljs) => ({
    name: "rml",
    keywords: {
      keyword: "node private import as fby back post when not merge if then else every restart by along and or",
      literal: "true false",
      type: "num int bool",
    },
    contains: [
      hljs.COMMENT("\\(\\*", "\\*\\)"),
      hljs.COMMENT("--", "$"),
      hljs.QUOTE_STRING_MODE,
      { className: "number", begin: "\\b\\d+(\\.\\d+)?\\b" },
      { className: "title", begin: "\\w+(?=\\()" },
    ],
  }));
  for (const block of document.querySelectorAll("code.language-rml")) {
    block.textContent = block.textContent;
    block.className = "language-rml";
    hljs.highlightBlock(block);
  }
})();
