# SPDX-License-Identifier: GPL-3.0-or-later
# Fish completion for headroom. Verbs, options and names are read from the output of the program itself, so they always match it.

# The first word of each line that is not indented.
function __headroom_names --argument-names program list
    $program list $list 2>/dev/null | sed -n 's/^\([^ ][^ ]*\).*/\1/p'
end

# The names in a list whose first line has the columns' names.
function __headroom_column --argument-names program list
    __headroom_names $program $list | sed 1d | sort -u
end

# Names with descriptions: the lines of a help that begin with two spaces and a name that fits the pattern.
function __headroom_rows --argument-names pattern
    sed -n "s/^  \(-[a-zA-Z], \)\{0,1\}\($pattern\)\( [^ ][^ ]*\)\{0,1\}  *\(.*\)/\2\t\4/p; s/^  \(-[a-zA-Z], \)\{0,1\}\($pattern\)\( [^ ]*\)\{0,1\}\$/\2/p"
end

function __headroom_options
    $argv[1] help $argv[2..-1] 2>/dev/null | __headroom_rows '--[a-z-]*'
    echo --help\t'show the options'
end

function __headroom_verbs --argument-names program
    $program --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  *\(.*\)/\1\t\2/p'
end

# The actions of a verb; empty if it has none.
function __headroom_actions --argument-names program verb
    $program help $verb 2>/dev/null | sed -n '/^Usage: .* ACTION /,/^.headroom/s/^  \([a-z][a-z]*\)  *\(.*\)/\1\t\2/p'
end

# The names of the lists of 'headroom list', from its help.
function __headroom_lists --argument-names program
    $program help list 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\)\(  .*\)\{0,1\}$/\1/p'
end

# The last name of a list with commas.
function __headroom_list --argument-names current
    set -l before (string replace -r '[^,]*$' '' -- "$current")
    printf "$before%s\n" $argv[2..-1]
end

# The values of an option. Fails if any file may be its value.
function __headroom_values --argument-names program verb action option current
    switch $option
        case --policies
            set -l list policies
            test "$verb" = fill; and set list placements
            __headroom_list "$current" (__headroom_names $program $list)
        case --policy
            __headroom_names $program policies
        case --gpu
            __headroom_column $program gpus
        case --cloud --provider
            __headroom_column $program instances
        case --openmetrics-by
            printf '%s\n' node gpu pool
        case --blocks
            printf '%s\n' days weeks
        case --like
            printf '%s\n' philly helios pai acme-seren acme-kalos
            __fish_complete_path "$current"
        case --format
            __headroom_names $program formats
        case --to
            printf '%s\n' csv swf packed
        case --by
            test "$action" = scale; and printf '%s\n' thin duplicate compress
        case --what
            printf '%s\n' arrivals rows users
        case --align
            printf '%s\n' clock start
        case --allow
            __headroom_list "$current" (__headroom_names $program findings)
        case --drop
            __headroom_list "$current" (__headroom_names $program fields | string match -rv '^(submit|duration|gpus)$')
        case --trace --cluster --jobs --requests --timeline --averages --priorities --shares --costs --json --perfetto --openmetrics --csv --md --junit --db --report --baseline --output -o --key-file --model-out --token-file
            __fish_complete_path "$current"
        case '*'
            return 1
    end
end

function __headroom_operands --argument-names program verb action position third current
    switch $verb
        case serve
            __fish_complete_directories "$current" ''
        case list
            if test "$third" = keys
                __headroom_names $program keys | string match -v '$*'
            else
                __headroom_lists $program
            end
        case import conform
            if test $position -gt 2
                __fish_complete_path "$current"
            else
                printf '%s\n' kueue kai volcano kubernetes slurm
                test $verb = conform; and echo autoscalers
            end
        case trace fit
            if test -n "$action"
                __fish_complete_path "$current"
            else
                __headroom_actions $program $verb
            end
        case help
            switch $position
                case 2
                    __headroom_verbs $program
                case 3
                    __headroom_actions $program $third
            end
        case '*'
            __fish_complete_path "$current"
    end
end

function __headroom
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -l verb $words[2]
    set -l action
    if contains -- "$verb" trace fit
        set action $words[3]
    end
    if test (count $words) -eq 1
        __headroom_verbs $program
        printf '%s\n' --help --version
        return
    end
    __headroom_values $program "$verb" "$action" $words[-1] "$current"; and return
    if string match -q -- '-*' "$current"
        __headroom_options $program $verb $action
    else
        __headroom_operands $program $verb "$action" (count $words) "$words[3]" "$current"
    end
end

complete -c headroom -f -a '(__headroom)'
