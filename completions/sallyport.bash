# bash completion for sallyport
_sallyport_ids() {
    sallyport approve list --json 2>/dev/null | grep -o '"id": *"[^"]*"' | cut -d'"' -f4
}

_sallyport_sessions() {
    sallyport session list --json 2>/dev/null | grep -o '"session": *"[^"]*"' | cut -d'"' -f4
}

_sallyport_files() {
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_sallyport_words() {
    mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# Behind "sallyport policy": the step, its options, then what it takes.
_sallyport_policy() {
    local word=$1 before=$2 step=${COMP_WORDS[2]-} options='--help' takes=''
    if [ "$COMP_CWORD" = 2 ]; then
        _sallyport_words "$word" 'check explain list test trust undo diff fmt import export --help'
        return
    fi
    case $step in
    check) options='--managed --help' takes=files ;;
    explain)
        options='--policy --answers --default --no-user --managed --json --help'
        options+=' --method --path --query --header --from --by'
        ;;
    list) options='--answers --presets --policy --managed --no-user --json --help' ;;
    test) options='--managed --json --help' takes=files ;;
    trust) options='--configuration --help' takes=files ;;
    diff) options='--a --b --layer --json --help' takes=files ;;
    fmt) options='--check --help' takes=files ;;
    import | export)
        [ "$step" = export ] && options='--lossy --help'
        case $before in import | export | --lossy) takes=formats ;; *) takes=files ;; esac
        ;;
    esac
    case $step:$before in
    *:--policy | *:--a | *:--b | explain:--answers | explain:--by) _sallyport_files "$word" ;;
    explain:--managed | list:--managed) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    *:--default) _sallyport_words "$word" 'ask deny allow' ;;
    *:--layer) _sallyport_words "$word" 'managed user command-line project' ;;
    *)
        case $word:$takes in
        -*) _sallyport_words "$word" "$options" ;;
        *:files) _sallyport_files "$word" ;;
        *:formats)
            _sallyport_words "$word" 'codex-config codex-rules sandbox-runtime claude-settings smokescreen harden-runner'
            ;;
        *) _sallyport_words "$word" "$options" ;;
        esac
        ;;
    esac
}

_sallyport() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-}
    local words='' i
    # behind "run … --" it is the command's own affair
    if [ "$command" = run ]; then
        for ((i = 2; i < COMP_CWORD; i++)); do
            if [ "${COMP_WORDS[i]}" = -- ]; then
                if declare -F _command_offset >/dev/null; then
                    _command_offset $((i + 1))
                fi
                return
            fi
        done
    fi
    if [ "$command" = policy ] && [ "$COMP_CWORD" -ge 2 ]; then
        _sallyport_policy "$word" "$before"
        return
    fi
    case $before in
    --policy | --audit | --socket | --bundle | --webhook-key | --answers | --read | --deny-read | --key | --output | -o | verify | merge)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --write)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    --default) words='ask deny allow' ;;
    --report) words='text json none' ;;
    --sandbox) words='read-only workspace-write workspace-write:own-tmp external external:network danger-full-access' ;;
    --reviewer-mode) words='shadow answer' ;;
    --join | --grants-of) words=$(_sallyport_sessions) ;;
    --scope) words='once exec session always' ;;
    --env)
        mapfile -t COMPREPLY < <(compgen -v -- "$word")
        return
        ;;
    *)
        case $COMP_CWORD:$command in
        1:*) words='run agent mcp policy approve session audit --version --help' ;;
        2:approve) words='list watch allow deny abort grants revoke undo live cut bundle reviewer --help' ;;
        2:audit) words='verify merge --help' ;;
        2:session) words='start list end --help' ;;
        *:session)
            case ${COMP_WORDS[2]-} in
            start) words='--if-needed --idle --foreground --grants-of --policy --default --prompt-timeout --web --reviewer --reviewer-mode --reviewer-timeout --notify --webhook --webhook-key --webhook-answer --audit --bundle --answers --verbose --help' ;;
            list) words='--json --help' ;;
            end) words=$(_sallyport_sessions) ;;
            esac
            ;;
        *:run) words='--policy --default --audit --report --session --join --grants-of --prompt-timeout --no-tty --web --reviewer --reviewer-mode --reviewer-timeout --notify --webhook --webhook-key --webhook-answer --fail-on-ask --bundle --answers --resolve --dns --json --write --read --deny-read --sandbox --env --clean-env --intercept-exec --dry-run --verbose --help --' ;;
        *:agent | *:mcp)
            words='--allow-unconfined --grants-of --policy --default --prompt-timeout --web --reviewer --reviewer-mode --reviewer-timeout --notify --webhook --webhook-key --webhook-answer --session --audit --answers --resolve --dns --write --read --env --clean-env --verbose --help'
            case $command in
            agent) words="$words --socket" ;;
            mcp) words="$words --approval --sandbox" ;;
            esac
            ;;
        *:approve)
            words='--json --plain --session --scope --domain --all-ports --program --for --upload --download --connections --words --confirm'
            if [ "$before" = --session ]; then
                words=$(_sallyport_sessions)
                mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
                return
            fi
            case ${COMP_WORDS[2]-} in
            allow | deny | abort) words="$words $(_sallyport_ids)" ;;
            bundle)
                words='--key --output --for --allow --deny --from --merge --json --help'
                case $word in -*) ;; *) _sallyport_files "$word" && return ;; esac
                ;;
            esac
            ;;
        esac
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _sallyport sallyport
