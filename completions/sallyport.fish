# fish completion for sallyport
function __sallyport_ids
    sallyport approve list --json 2>/dev/null | string match -ra '"id": *"[^"]*"' | string replace -r '.*"([^"]*)"$' '$1'
end

function __sallyport_sessions
    sallyport session list --json 2>/dev/null | string match -ra '"session": *"[^"]*"' | string replace -r '.*"([^"]*)"$' '$1'
end

complete -c sallyport -f
complete -c sallyport -n __fish_use_subcommand -a run -d 'run a command in the gate'
complete -c sallyport -n __fish_use_subcommand -a agent -d 'serve an agent\'s harness'
complete -c sallyport -n __fish_use_subcommand -a mcp -d 'serve a client of the Model Context Protocol'
complete -c sallyport -n __fish_use_subcommand -a policy -d 'check and explain policies'
complete -c sallyport -n __fish_use_subcommand -a approve -d 'answer questions'
complete -c sallyport -n __fish_use_subcommand -a session -d 'share one gate between runs'
complete -c sallyport -n __fish_use_subcommand -a audit -d 'verify records'
complete -c sallyport -n __fish_use_subcommand -l version -d 'print the version'

set -l in_run '__fish_seen_subcommand_from run'
complete -c sallyport -n $in_run -l policy -rF -d 'read a policy file'
complete -c sallyport -n $in_run -l default -xa 'ask deny allow' -d 'what no rule matches'
complete -c sallyport -n $in_run -l audit -rF -d 'append the records there'
complete -c sallyport -n $in_run -l report -xa 'text json none' -d 'report at the end'
complete -c sallyport -n $in_run -l session -x -d 'name of the session'
complete -c sallyport -n $in_run -l join -xa '(__sallyport_sessions)' -d 'session to be part of'
complete -c sallyport -n $in_run -l grants-of -xa '(__sallyport_sessions)' -d 'begin with its answers'
complete -c sallyport -n $in_run -l prompt-timeout -x -d 'how long a question waits'
complete -c sallyport -n $in_run -l no-tty -d 'never prompt on this terminal'
complete -c sallyport -n $in_run -l web -d 'serve a page for answers on loopback'
complete -c sallyport -n $in_run -l fail-on-ask -d 'exit 78 when nobody answered'
complete -c sallyport -n $in_run -l intercept-exec -d 'judge every program the command starts'
complete -c sallyport -n $in_run -l bundle -rF -d 'write what nobody answered there'
complete -c sallyport -n $in_run -l answers -rF -d 'take signed answers from there'
complete -c sallyport -n $in_run -l reviewer -x -d 'a program that is asked, too'
complete -c sallyport -n $in_run -l reviewer-mode -x -a 'shadow answer' -d 'compare it, or let it answer'
complete -c sallyport -n $in_run -l reviewer-timeout -x -d 'how long it may think'
complete -c sallyport -n $in_run -l notify -d 'say on the desktop that a question waits'
complete -c sallyport -n $in_run -l webhook -x -d 'tell a server of every question'
complete -c sallyport -n $in_run -l webhook-key -r -d 'key of its signatures'
complete -c sallyport -n $in_run -l webhook-answer -x -d 'where its answer links lead'
complete -c sallyport -n $in_run -l resolve -x -d 'NAME:ADDRESS'
complete -c sallyport -n $in_run -l dns -x -d 'name server'
complete -c sallyport -n $in_run -l json -d 'result for programs'
complete -c sallyport -n $in_run -l write -xa '(__fish_complete_directories)' -d 'writable folder'
complete -c sallyport -n $in_run -l read -r -d 'to be seen, and nothing else'
complete -c sallyport -n $in_run -l deny-read -r -d 'out of reach'
complete -c sallyport -n $in_run -l sandbox -x -a 'read-only workspace-write workspace-write:own-tmp external external:network danger-full-access' -d 'what may be touched'
complete -c sallyport -n $in_run -l env -x -d 'variable to set or pass'
complete -c sallyport -n $in_run -l clean-env -d 'pass nothing on but the usual'
complete -c sallyport -n $in_run -l dry-run -d 'print the plan'
complete -c sallyport -n $in_run -l verbose -d 'say more'
complete -c sallyport -n $in_run -a '(__fish_complete_subcommand)'

set -l in_serving '__fish_seen_subcommand_from agent mcp'
complete -c sallyport -n $in_serving -l allow-unconfined -d 'sandboxes may be left out'
complete -c sallyport -n $in_serving -l policy -rF -d 'read a policy file'
complete -c sallyport -n $in_serving -l default -xa 'ask deny allow' -d 'what no rule matches'
complete -c sallyport -n $in_serving -l prompt-timeout -x -d 'how long a question waits'
complete -c sallyport -n $in_serving -l web -d 'serve a page for answers on loopback'
complete -c sallyport -n $in_serving -l reviewer -x -d 'a program that is asked, too'
complete -c sallyport -n $in_serving -l reviewer-mode -x -a 'shadow answer' -d 'compare it, or let it answer'
complete -c sallyport -n $in_serving -l reviewer-timeout -x -d 'how long it may think'
complete -c sallyport -n $in_serving -l notify -d 'say on the desktop that a question waits'
complete -c sallyport -n $in_serving -l webhook -x -d 'tell a server of every question'
complete -c sallyport -n $in_serving -l webhook-key -r -d 'key of its signatures'
complete -c sallyport -n $in_serving -l webhook-answer -x -d 'where its links lead'
complete -c sallyport -n $in_serving -l session -x -d 'name in records'
complete -c sallyport -n $in_serving -l grants-of -xa '(__sallyport_sessions)' -d 'begin with its answers'
complete -c sallyport -n $in_serving -l audit -rF -d 'append the records there'
complete -c sallyport -n $in_serving -l answers -rF -d 'take signed answers from there'
complete -c sallyport -n $in_serving -l resolve -x -d 'NAME:ADDRESS'
complete -c sallyport -n $in_serving -l dns -x -d 'name server'
complete -c sallyport -n $in_serving -l write -xa '(__fish_complete_directories)' -d 'writable folder'
complete -c sallyport -n $in_serving -l read -r -d 'to be seen, and nothing else'
complete -c sallyport -n $in_serving -l env -x -d 'variable to set or pass'
complete -c sallyport -n $in_serving -l clean-env -d 'pass nothing on but the usual'
complete -c sallyport -n $in_serving -l verbose -d 'say more'

set -l in_agent '__fish_seen_subcommand_from agent'
complete -c sallyport -n $in_agent -l socket -rF -d 'serve clients that connect there'

set -l in_mcp '__fish_seen_subcommand_from mcp'
complete -c sallyport -n $in_mcp -l approval -xa 'untrusted on-request on-failure never' -d 'when a person is asked'
complete -c sallyport -n $in_mcp -l sandbox -xa 'read-only workspace-write danger-full-access' -d 'what may be touched'

# Is the step of `policy` on the line the one given?
function __sallyport_policy_step
    set -l words (commandline -opc)
    test (count $words) -ge 3; and test $words[2] = policy; and test $words[3] = $argv[1]
end

set -l in_policy '__fish_seen_subcommand_from policy; and test (count (commandline -opc)) -eq 2'
complete -c sallyport -n $in_policy -a check -d 'read policy files and their expectations'
complete -c sallyport -n $in_policy -a explain -d 'what would be decided, and why'
complete -c sallyport -n $in_policy -a list -d 'every rule of every layer'
complete -c sallyport -n $in_policy -a test -d 'the expectations of many files'
complete -c sallyport -n $in_policy -a trust -d 'let a file of the project count'
complete -c sallyport -n $in_policy -a undo -d 'remove the last kept answer'
complete -c sallyport -n $in_policy -a diff -d 'what another policy decides differently'
complete -c sallyport -n $in_policy -a fmt -d 'lay files out'
complete -c sallyport -n $in_policy -a import -d 'read another format'
complete -c sallyport -n $in_policy -a export -d 'write another format'
complete -c sallyport -n '__sallyport_policy_step check' -l managed -d 'as files of the managed layer'
complete -c sallyport -n '__sallyport_policy_step check' -F
complete -c sallyport -n '__sallyport_policy_step explain' -l policy -rF -d 'read a policy file'
complete -c sallyport -n '__sallyport_policy_step explain' -l answers -rF -d 'take signed answers from there'
complete -c sallyport -n '__sallyport_policy_step explain' -l default -xa 'ask deny allow' -d 'what no rule matches'
complete -c sallyport -n '__sallyport_policy_step explain' -l no-user -d 'without the user file'
complete -c sallyport -n '__sallyport_policy_step explain' -l managed -xa '(__fish_complete_directories)' -d 'the managed layer'
complete -c sallyport -n '__sallyport_policy_step explain' -l json -d 'for programs'
complete -c sallyport -n '__sallyport_policy_step explain' -l method -xa 'GET HEAD POST PUT DELETE' -d 'of the request'
complete -c sallyport -n '__sallyport_policy_step explain' -l path -x -d 'of the request'
complete -c sallyport -n '__sallyport_policy_step explain' -l query -x -d 'of the request'
complete -c sallyport -n '__sallyport_policy_step explain' -l header -x -d 'of the request'
complete -c sallyport -n '__sallyport_policy_step explain' -l from -x -d 'the command that asks'
complete -c sallyport -n '__sallyport_policy_step explain' -l by -rF -d 'the program that asks'
complete -c sallyport -n '__sallyport_policy_step list' -l answers -d 'kept answers only'
complete -c sallyport -n '__sallyport_policy_step list' -l presets -d 'policies of the program'
complete -c sallyport -n '__sallyport_policy_step list' -l policy -rF -d 'read a policy file'
complete -c sallyport -n '__sallyport_policy_step list' -l managed -xa '(__fish_complete_directories)' -d 'the managed layer'
complete -c sallyport -n '__sallyport_policy_step list' -l no-user -d 'without the user file'
complete -c sallyport -n '__sallyport_policy_step list' -l json -d 'for programs'
complete -c sallyport -n '__sallyport_policy_step test' -l managed -d 'as files of the managed layer'
complete -c sallyport -n '__sallyport_policy_step test' -l json -d 'for programs'
complete -c sallyport -n '__sallyport_policy_step test' -F
complete -c sallyport -n '__sallyport_policy_step trust' -l configuration -d 'a configuration of a tool'
complete -c sallyport -n '__sallyport_policy_step trust' -F
complete -c sallyport -n '__sallyport_policy_step diff' -l a -rF -d 'a file of the first'
complete -c sallyport -n '__sallyport_policy_step diff' -l b -rF -d 'a file of the second'
complete -c sallyport -n '__sallyport_policy_step diff' -l layer -xa 'managed user command-line project' -d 'of the files behind it'
complete -c sallyport -n '__sallyport_policy_step diff' -l json -d 'for programs'
complete -c sallyport -n '__sallyport_policy_step diff' -F
complete -c sallyport -n '__sallyport_policy_step fmt' -l check -d 'change nothing'
complete -c sallyport -n '__sallyport_policy_step fmt' -F
complete -c sallyport -n '__sallyport_policy_step import' -F
complete -c sallyport -n '__sallyport_policy_step import' -a 'codex-config codex-rules sandbox-runtime claude-settings smokescreen harden-runner'
complete -c sallyport -n '__sallyport_policy_step export' -l lossy -d 'hosts for all ports, denials may be missing'
complete -c sallyport -n '__sallyport_policy_step export' -F
complete -c sallyport -n '__sallyport_policy_step export' -a 'codex-config codex-rules sandbox-runtime claude-settings smokescreen harden-runner'
complete -c sallyport -n '__fish_seen_subcommand_from approve' -a 'list watch allow deny abort grants revoke undo live cut bundle reviewer'
complete -c sallyport -n '__fish_seen_subcommand_from allow deny abort' -a '(__sallyport_ids)'
complete -c sallyport -n '__fish_seen_subcommand_from approve' -l session -xa '(__sallyport_sessions)' -d 'that one only'
complete -c sallyport -n '__fish_seen_subcommand_from approve' -l scope -xa 'once exec session always'
complete -c sallyport -n '__fish_seen_subcommand_from approve' -l json
complete -c sallyport -n '__fish_seen_subcommand_from approve' -l plain -d 'watch line by line'
complete -c sallyport -n '__fish_seen_subcommand_from approve' -l domain
complete -c sallyport -n '__fish_seen_subcommand_from approve' -l all-ports
complete -c sallyport -n '__fish_seen_subcommand_from approve' -l program
complete -c sallyport -n '__fish_seen_subcommand_from approve' -xl for
complete -c sallyport -n '__fish_seen_subcommand_from approve' -xl upload
complete -c sallyport -n '__fish_seen_subcommand_from approve' -xl download
complete -c sallyport -n '__fish_seen_subcommand_from approve' -xl connections
complete -c sallyport -n '__fish_seen_subcommand_from approve' -xl words
complete -c sallyport -n '__fish_seen_subcommand_from approve' -xl confirm
set -l in_bundle '__fish_seen_subcommand_from approve; and __fish_seen_subcommand_from bundle'
complete -c sallyport -n $in_bundle -l key -rF -d 'sign with'
complete -c sallyport -n $in_bundle -s o -l output -rF -d 'write there'
complete -c sallyport -n $in_bundle -l allow -x -d 'allow it'
complete -c sallyport -n $in_bundle -l deny -x -d 'deny it'
complete -c sallyport -n $in_bundle -l from -x -d 'signed by'
complete -c sallyport -n $in_bundle -l merge -d 'make one of many'
complete -c sallyport -n $in_bundle -F
complete -c sallyport -n '__fish_seen_subcommand_from audit' -a 'verify merge'
complete -c sallyport -n '__fish_seen_subcommand_from audit' -F

set -l in_session '__fish_seen_subcommand_from session'
set -l in_start '__fish_seen_subcommand_from session; and __fish_seen_subcommand_from start'
complete -c sallyport -n "$in_session; and not __fish_seen_subcommand_from start list end" -a 'start list end'
complete -c sallyport -n "$in_session; and __fish_seen_subcommand_from end" -a '(__sallyport_sessions)'
complete -c sallyport -n "$in_session; and __fish_seen_subcommand_from list" -l json
complete -c sallyport -n $in_start -l if-needed -d 'be content with one that is there'
complete -c sallyport -n $in_start -l idle -x -d 'end without a run'
complete -c sallyport -n $in_start -l foreground -d 'stay here'
complete -c sallyport -n $in_start -l grants-of -xa '(__sallyport_sessions)' -d 'begin with its answers'
complete -c sallyport -n $in_start -l policy -rF -d 'read a policy file'
complete -c sallyport -n $in_start -l default -xa 'ask deny allow'
complete -c sallyport -n $in_start -l prompt-timeout -x
complete -c sallyport -n $in_start -l web
complete -c sallyport -n $in_start -l reviewer -x
complete -c sallyport -n $in_start -l reviewer-mode -xa 'shadow answer'
complete -c sallyport -n $in_start -l reviewer-timeout -x
complete -c sallyport -n $in_start -l notify
complete -c sallyport -n $in_start -l webhook -x
complete -c sallyport -n $in_start -l webhook-key -r
complete -c sallyport -n $in_start -l webhook-answer -x
complete -c sallyport -n $in_start -l audit -rF
complete -c sallyport -n $in_start -l bundle -rF -d 'what nobody answered'
complete -c sallyport -n $in_start -l answers -rF -d 'take signed answers from there'
complete -c sallyport -n $in_start -l verbose
