# fish completion for sallyport: the program itself says what may follow
function __sallyport
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :folders
                __fish_complete_directories (commandline -ct)
            case ':command *'
                set -l behind $words[(math (string replace ':command ' '' -- $line) + 1)..-1]
                set -l head (string escape -- $behind[1..-2])
                complete -C "$head $behind[-1]"
            case '*'
                echo $line
        end
    end
end
complete -c sallyport -f -a '(__sallyport)'
