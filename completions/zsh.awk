# SPDX-License-Identifier: Apache-2.0
# Zsh completion of fathom, from the program's own table: fathom help options | awk -f completions/zsh.awk
function quoted(text) {
    gsub(/'/, "'\\''", text)
    return text
}
function described(text) { # within [...] of a specification
    gsub(/\\/, "\\\\", text)
    gsub(/\[/, "\\[", text)
    gsub(/\]/, "\\]", text)
    gsub(/:/, "\\:", text)
    return quoted(text)
}
BEGIN {
    FS = "\t"
    print "#compdef fathom\n# Made by the build (completions/zsh.awk)."
}
$4 == "" && $9 != "" {
    verbs[++count] = $1
    gsub(/:/, "\\:", $9)
    about[$1] = quoted($9)
}
$4 == "" && $9 == "" { positional[$1] = $7 == "" ? "*:file:_files" : "1:what:(" $7 ")" }
$4 != "" {
    takes = $5 == "" ? "" : ":" $5 ":" ($7 != "" ? "(" $7 ")" : $6 != "" ? "_files" : " ")
    gsub(/\[:STEPS\]/, "", takes)
    text = "[" described($9) "]" takes "'"
    long = "--" $4 ($5 == "" ? "" : "=")
    spec = $3 == "" ? "'" long text : "'(-" $3 " --" $4 ")'{-" $3 ($5 == "" ? "" : "+") "," long "}'" text
    options[$1] = options[$1] " \\\n            " spec
}
END {
    print "_fathom() {\n    local -a verbs\n    verbs=("
    for (i = 1; i <= count; i++) print "        '" verbs[i] ":" about[verbs[i]] "'"
    print "        'help:what a verb does and takes'\n        'version:show the version'\n    )"
    print "    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n    fi"
    print "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in"
    for (i = 1; i <= count; i++)
        print "    " verbs[i] ")\n        _arguments -s -S" options[verbs[i]] " \\\n            '" positional[verbs[i]] "'\n        ;;"
    print "    help) _describe verb verbs ;;\n    esac\n}\n_fathom \"$@\""
}
