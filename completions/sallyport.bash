# bash completion for sallyport: the program itself says what may follow
_sallyport() {
    local word=${COMP_WORDS[COMP_CWORD]} line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        :folders) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
        ':command '*) declare -F _command_offset >/dev/null && _command_offset "${line#* }" ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}
complete -F _sallyport sallyport
