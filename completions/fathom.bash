# SPDX-License-Identifier: Apache-2.0
# Bash completion of fathom: verbs, options, the choices of options that have some, files.
# A test (tests/docs) keeps the lists below equal to what the program takes.
# shellcheck shell=bash

# Prints the options of a verb.
_fathom_options() {
    local trace='--format --instructions --key --size-column --key-unit --size-unit --delimiter --header'
    local collect='--collector --function --region --loads --stores --no-stack --follow-children --limit --limit-time --at-limit'
    case $1 in
    run) echo "--json --report --no-source --output $collect --threads-private --no-sites --call-paths --callgrind --csv --size --embed-source --by --pairs --histogram --top --granularity --engine --engine-option --bound --bins --time --max-memory --isa --threads --distances --reproducible --pass-status --quiet --progress" ;;
    sample) echo "--pid --json --report --no-source --output --function --region --overhead --method --rate --duration --follow-children --call-paths --mean-rate --no-watches --granularity --estimator --conversion --period --bootstrap --simulate --registers --bursts --reservoir --seed --even --no-sites --callgrind --csv --size --embed-source --by --pairs --histogram --top --pass-status --quiet --progress $trace" ;;
    record) echo "--output $collect --level --store --pass-status --quiet --progress" ;;
    analyze) echo "--json --granularity --engine --engine-option --threads --bound --bins --distances --time --max-memory --isa --sites --no-sites --callgrind --csv --size --embed-source --by --pairs --histogram --top --mpi --mpi-shards --quiet --progress $trace" ;;
    mrc) echo '--csv --json --size --blocks --cache --hit-ratio --machine --no-machine --select --quiet' ;;
    diff) echo '--fail-if --allow --json --markdown --report --title --source --size --by --top --select --quiet' ;;
    compare) echo '--json --select --quiet' ;;
    report) echo '--output --title --size --no-machine --source --no-source --callgrind --csv --by --pairs --histogram --top --quiet' ;;
    convert) echo "--output --to --level --store --quiet --progress $trace" ;;
    gen) echo '--output --keys --references --seed --skew --to --level --quiet --progress' ;;
    check) echo "--verbose --json --quiet --progress $trace" ;;
    train) echo '--output --sizes --dimensions --percent --select --quiet' ;;
    phases) echo "--threshold --depth --alike --granularity --json --profiles --top --quiet --progress $trace" ;;
    static) echo '--function --param --granularity --layout --scalars --assume --counts --symbolic --open --emit-c --bins --json --report --callgrind --csv --size --embed-source --by --pairs --histogram --top --what-if --suggest --emit-ir --cache --machine --emit-machine --language --method --draws --verify --limit-time --threads --quiet --progress' ;;
    predict) echo "--data-size --size-from --threshold --data-samples --peaks --json --bins --quiet --progress $trace" ;;
    esac
    case $1 in cc | c++ | fc) ;; *) echo '--force' ;; esac
    echo '--help'
}

# Fills COMPREPLY with those of the words that begin with what was typed.
_fathom_words() {
    local IFS=$' \t\n'
    # shellcheck disable=SC2207 # no word has blanks or wildcards
    COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_fathom_files() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    # shellcheck disable=SC2207 # split at line ends only
    COMPREPLY=($(compgen -f -- "$1"))
}

_fathom() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    local verbs='run record sample analyze mrc diff compare report convert gen check train predict phases static cc c++ fc'
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _fathom_words "$verbs help --help --version" "$current"
        return
    fi
    if [ "$verb" = help ]; then
        [ "$COMP_CWORD" -eq 2 ] && _fathom_words "$verbs engines" "$current"
        return
    fi
    # --name=value arrives as three words.
    if [ "$current" = '=' ]; then
        current=
    elif [ "$previous" = '=' ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $previous in
    --format | --to) _fathom_words 'u64 text csv lackey din oracle fathom' "$current" ;;
    --engine) _fathom_words 'exact tree list parda approx shards aet gpu auto hp-rda hp-rda-gpu' "$current" ;;
    --engine-option) _fathom_words 'error= abs-error= cutoff= rate= samples= hashes= exact-below= hash-seed= card= cards= trace-size= thread-trace-size= hash-size= pool-size= disable-adjusting=' "$current" ;;
    --estimator) _fathom_words 'capped rdx rdx-trapped kaplan-meier horvitz-thompson' "$current" ;;
    --conversion) _fathom_words 'aet shen' "$current" ;;
    --reservoir) _fathom_words 'capped plain' "$current" ;;
    --bins) _fathom_words 'exact log2 loglinear' "$current" ;;
    --instructions) _fathom_words 'skip only all' "$current" ;;
    --header) _fathom_words 'yes no' "$current" ;;
    --collector) _fathom_words 'auto valgrind compiler' "$current" ;;
    --allow) _fathom_words 'end incomplete empty watched collector engine' "$current" ;;
    --at-limit) _fathom_words 'continue stop' "$current" ;;
    --by) _fathom_words 'line function object' "$current" ;;
    --layout) _fathom_words 'contiguous aligned' "$current" ;;
    --language) _fathom_words 'c c++ fortran fir' "$current" ;;
    --method)
        if [ "$verb" = sample ]; then
            _fathom_words 'pmu software' "$current"
        else
            _fathom_words 'walk count reconstruct sample' "$current"
        fi
        ;;
    --isa) _fathom_words 'avx512 avx2 portable' "$current" ;;
    --granularity | --threads | --bound | --data-samples | --select | --sizes | --dimensions | --percent | --data-size | --threshold | --peaks | --alike | --profiles | --max-memory | --key | --size-column | --key-unit | --size-unit | --delimiter | \
        --size | --blocks | --cache | --hit-ratio | --title | --keys | --references | --seed | --skew | --level | \
        --period | --bootstrap | --registers | --bursts | --function | --region | --limit | --limit-time | --fail-if | --top | --param | --open | --assume | --draws) ;;
    *)
        if [[ $current == -* ]]; then
            _fathom_words "$(_fathom_options "$verb")" "$current"
        elif [ "$verb" = gen ] && [ "$COMP_CWORD" -eq 2 ]; then
            _fathom_words 'zipf uniform cyclic sawtooth loguniform distinct same' "$current"
        else
            _fathom_files "$current"
        fi
        ;;
    esac
}
complete -F _fathom fathom
