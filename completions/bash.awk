# SPDX-License-Identifier: Apache-2.0
# Bash completion of fathom, from the program's own table: fathom help options | awk -f completions/bash.awk
# Verbs, options, the choices of options that have some, files.
BEGIN {
    FS = "\t"
    print "# Bash completion of fathom, made by the build (completions/bash.awk)."
}
$4 == "" && $9 != "" { verbs[++verb_count] = $1 }
$4 == "" && $7 != "" { first_choices[$1] = $7 }
$4 != "" {
    options[$1] = options[$1] (options[$1] == "" ? "" : " ") "--" $4
    if ($5 == "" || $4 in seen) next
    seen[$4]
    pattern = ($3 == "" ? "" : "-" $3 " | ") "--" $4
    if ($7 != "") choices[pattern] = $7
    else if ($6 == "") values = values (values == "" ? "" : " | ") pattern
}
END {
    print "_fathom_options() {\n    case $1 in"
    for (i = 1; i <= verb_count; i++) {
        all = all (i == 1 ? "" : " ") verbs[i]
        print "    " verbs[i] ") echo '" options[verbs[i]] "' ;;"
    }
    print "    esac\n}"
    print "# Fills COMPREPLY with those of the words that begin with what was typed."
    print "_fathom_words() {\n    local IFS=$' \\t\\n'\n    COMPREPLY=($(compgen -W \"$1\" -- \"$2\"))\n}"
    print "_fathom_files() {\n    local IFS=$'\\n'\n    compopt -o filenames 2>/dev/null"
    print "    COMPREPLY=($(compgen -f -- \"$1\"))\n}"
    print "_fathom() {"
    print "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}"
    print "    COMPREPLY=()"
    print "    if [ \"$COMP_CWORD\" -eq 1 ]; then"
    print "        _fathom_words '" all " help version --help --version' \"$current\"\n        return\n    fi"
    print "    if [ \"$verb\" = help ]; then"
    print "        [ \"$COMP_CWORD\" -eq 2 ] && _fathom_words '" all " engines options' \"$current\"\n        return\n    fi"
    print "    # --name=value arrives as three words."
    print "    if [ \"$current\" = '=' ]; then\n        current="
    print "    elif [ \"$previous\" = '=' ]; then\n        previous=${COMP_WORDS[COMP_CWORD - 2]}\n    fi"
    print "    case $previous in"
    for (pattern in choices) print "    " pattern ") _fathom_words '" choices[pattern] "' \"$current\" ;;"
    print "    " values ") ;;"
    print "    *)\n        if [[ $current == -* ]]; then\n            _fathom_words \"$(_fathom_options \"$verb\")\" \"$current\""
    for (verb in first_choices)
        print "        elif [ \"$verb\" = " verb " ] && [ \"$COMP_CWORD\" -eq 2 ]; then\n            _fathom_words '" first_choices[verb] "' \"$current\""
    print "        else\n            _fathom_files \"$current\"\n        fi\n        ;;\n    esac\n}"
    print "complete -F _fathom fathom"
}
