# SPDX-License-Identifier: Apache-2.0
# Fish completion of fathom, from the program's own table: fathom help options | awk -f completions/fish.awk
function quoted(text) {
    gsub(/[\\']/, "\\\\&", text)
    return "'" text "'"
}
BEGIN {
    FS = "\t"
    print "# Made by the build (completions/fish.awk)."
    print "complete -c fathom -n __fish_use_subcommand -f -a help -d 'what a verb does and takes'"
    print "complete -c fathom -n __fish_use_subcommand -f -a version -d 'show the version'"
}
{ when = "complete -c fathom -n '__fish_seen_subcommand_from " $1 "'" }
$4 == "" && $9 != "" { print "complete -c fathom -n __fish_use_subcommand -f -a " $1 " -d " quoted($9) }
$4 == "" && $7 != "" { print when " -f -a " quoted($7) }
$4 != "" {
    takes = $5 == "" ? "" : $7 != "" ? " -x -a " quoted($7) : $6 != "" ? " -r -F" : " -x"
    print when " -l " $4 ($3 == "" ? "" : " -s " $3) takes " -d " quoted($9)
}
