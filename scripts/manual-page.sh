#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the page of a verb out of its source: the section OPTIONS has every option of the program's table.
#
#   manual-page.sh man/fathom-VERB.1.scd TABLE OUT      TABLE: what `fathom help options` prints
#
# What an option means is said once, in src/cli/option_list.c. A longer paragraph stands under its name (*--json*) in the
# section OPTIONS of the page, or, for all verbs that say nothing else, in man/options.txt. A paragraph without an option
# is an error.
set -eu
page=$1 table=$2 out=$3
verb=$(basename "$page" .1.scd | sed 's/^fathom-*//; s/^cxx$/c++/')
if ! cut -f 1 "$table" | grep -qxF "$verb"; then # pages about other things
    cp "$page" "$out"
    exit
fi
awk -v verb="$verb" 'function escaped(text) {
    gsub(/[_*]/, "\\\\&", text)
    sub(/^-/, "\\-", text)
    return text
}
function write_options(    i, name, field, text) {
    for (i = 1; i <= count; i++) {
        split(rows[i], field, "\t")
        name = field[4]
        if (count > 1 && field[2] != topic) print "## " (topic = field[2]) "\n"
        print (field[3] == "" ? "" : "*-" field[3] "*, ") "*--" name "*" (field[5] == "" ? "" : " _" field[5] "_")
        text = "\t" escaped(field[9]) (field[8] == "" ? "" : ". Default: " escaped(field[8])) "\n"
        if (name in special) text = special[name]
        else if (name in common && field[10] == "") text = common[name]
        print text
        delete special[name]
    }
    for (name in special) {
        print FILENAME ": fathom " verb " has no --" name >"/dev/stderr"
        failed = 1
    }
}
FNR == 1 { file++; name = "" }
file == 1 {
    split($0, field, "\t")
    if (field[1] == verb && field[4] != "") rows[++count] = $0
    next
}
file == 3 && /^# / {
    if (in_options) write_options()
    in_options = /^# OPTIONS$/
    name = ""
}
file == 2 || in_options {
    if (match($0, /^\*--[a-z-]+\*$/)) {
        name = substr($0, 4, RLENGTH - 4)
        next
    }
    if (name != "") {
        if ($0 == "") next
        if (file == 2) common[name] = common[name] $0 "\n"
        else special[name] = special[name] $0 "\n"
        next
    }
}
file == 3 { print }
END { exit failed }' "$table" "$(dirname "$page")/options.txt" "$page" >"$out"
