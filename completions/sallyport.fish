# fish completion for sallyport
function __sallyport_ids
    sallyport approve list --json 2>/dev/null | string match -ra '"id": *"[^"]*"' | string replace -r '.*"([^"]*)"$' '$1'
end

complete -c sallyport -f
complete -c sallyport -n __fish_use_subcommand -a run -d 'run a command in the gate'
complete -c sallyport -n __fish_use_subcommand -a policy -d 'check and explain policies'
complete -c sallyport -n __fish_use_subcommand -a approve -d 'answer questions'
complete -c sallyport -n __fish_use_subcommand -a audit -d 'verify records'
complete -c sallyport -n __fish_use_subcommand -l version -d 'print the version'

set -l in_run '__fish_seen_subcommand_from run'
complete -c sallyport -n $in_run -l policy -rF -d 'read a policy file'
complete -c sallyport -n $in_run -l default -xa 'ask deny allow' -d 'what no rule matches'
complete -c sallyport -n $in_run -l audit -rF -d 'append the records there'
complete -c sallyport -n $in_run -l report -xa 'text json none' -d 'report at the end'
complete -c sallyport -n $in_run -l session -x -d 'name of the session'
complete -c sallyport -n $in_run -l prompt-timeout -x -d 'how long a question waits'
complete -c sallyport -n $in_run -l no-tty -d 'never prompt on this terminal'
complete -c sallyport -n $in_run -l web -d 'serve a page for answers on loopback'
complete -c sallyport -n $in_run -l resolve -x -d 'NAME:ADDRESS'
complete -c sallyport -n $in_run -l dns -x -d 'name server'
complete -c sallyport -n $in_run -l json -d 'result for programs'
complete -c sallyport -n $in_run -l write -xa '(__fish_complete_directories)' -d 'writable folder'
complete -c sallyport -n $in_run -l env -x -d 'variable to set or pass'
complete -c sallyport -n $in_run -l dry-run -d 'print the plan'
complete -c sallyport -n $in_run -l verbose -d 'say more'
complete -c sallyport -n $in_run -a '(__fish_complete_subcommand)'

complete -c sallyport -n '__fish_seen_subcommand_from policy' -a 'check explain list test trust undo'
complete -c sallyport -n '__fish_seen_subcommand_from policy' -l policy -rF
complete -c sallyport -n '__fish_seen_subcommand_from policy' -l json
complete -c sallyport -n '__fish_seen_subcommand_from policy' -l answers -d 'kept answers only'
complete -c sallyport -n '__fish_seen_subcommand_from policy' -l no-user -d 'without the user'
complete -c sallyport -n '__fish_seen_subcommand_from policy' -l managed -d 'the managed layer'
complete -c sallyport -n '__fish_seen_subcommand_from check trust; and __fish_seen_subcommand_from policy' -F
complete -c sallyport -n '__fish_seen_subcommand_from approve' -a 'list watch allow deny abort'
complete -c sallyport -n '__fish_seen_subcommand_from allow deny abort' -a '(__sallyport_ids)'
complete -c sallyport -n '__fish_seen_subcommand_from approve' -l scope -xa 'once exec session always'
complete -c sallyport -n '__fish_seen_subcommand_from approve' -l json
complete -c sallyport -n '__fish_seen_subcommand_from audit' -a verify
complete -c sallyport -n '__fish_seen_subcommand_from audit' -F
