# bash completion for sallyport
_sallyport_ids() {
    sallyport approve list --json 2>/dev/null | grep -o '"id": *"[^"]*"' | cut -d'"' -f4
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
    case $before in
    --policy | --audit | verify | check | trust)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --write)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    --default) words='ask deny allow' ;;
    --report) words='text json none' ;;
    --scope) words='once exec session always' ;;
    --env)
        mapfile -t COMPREPLY < <(compgen -v -- "$word")
        return
        ;;
    *)
        case $COMP_CWORD:$command in
        1:*) words='run policy approve audit --version --help' ;;
        2:policy) words='check explain list test trust undo diff fmt import --help' ;;
        2:approve) words='list watch allow deny abort --help' ;;
        2:audit) words='verify --help' ;;
        *:run) words='--policy --default --audit --report --session --prompt-timeout --no-tty --web --resolve --dns --json --write --env --dry-run --verbose --help --' ;;
        *:policy) words='--policy --json --answers --no-user --managed --check --a --b' ;;
        *:approve)
            words='--json --scope'
            case ${COMP_WORDS[2]-} in allow | deny | abort) words="$words $(_sallyport_ids)" ;; esac
            ;;
        esac
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _sallyport sallyport
