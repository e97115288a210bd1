" Colours for programs in R(ML)², beside those that `rml lsp` gives.
if exists("b:current_syntax")
  finish
endif
syntax keyword rmlWord node import private as if then else when merge every restart by along not and or
syntax match rmlWord "\<\(enum\|record\)\ze\s\+[A-Za-z_][A-Za-z0-9_]*\s*="
syntax match rmlWord "\<columns\ze\s\+[A-Za-z_][A-Za-z0-9_.]*\s*="
syntax match rmlWord "\<match\ze\s\+[A-Za-z_]"
syntax match rmlWord "\<const\ze\s\+[A-Za-z_][A-Za-z0-9_]*\s*="
syntax match rmlWord "\<share\ze\s\+[A-Za-z_][A-Za-z0-9_]*\s*="
syntax match rmlWord "\<\(automaton\|state\)\ze\s\+[A-Za-z_]"
syntax match rmlWord "^\s*\zs\(unless\|until\)\ze\s\+[^=,: ]"
syntax match rmlWord "^\s*\zsend\ze\s*;"
syntax match rmlWord "\<continue\ze\s\+[A-Za-z_]"
syntax match rmlWord +\<assert\ze\s*"+
syntax match rmlWord "\<for\ze\s[^=;,)]*<"
syntax match rmlDelay "\<fby\( back\)\?\>\|\<post\>"
syntax keyword rmlTruth true false
syntax keyword rmlType num int bool
syntax match rmlNumber "\<[0-9]\+\(\.[0-9]*\)\?\([eE][-+]\?[0-9]\+\)\?"
syntax match rmlCall "\<[A-Za-z_][A-Za-z0-9_]*\ze("
syntax region rmlText start=+"+ end=+"+ oneline
syntax match rmlComment "--.*$"
syntax region rmlComment start="(\*" end="\*)" contains=rmlComment
highlight default link rmlWord Keyword
highlight default link rmlDelay Statement
highlight default link rmlTruth Boolean
highlight default link rmlType Type
highlight default link rmlNumber Number
highlight default link rmlCall Function
highlight default link rmlText String
highlight default link rmlComment Comment
let b:current_syntax = "rml"
