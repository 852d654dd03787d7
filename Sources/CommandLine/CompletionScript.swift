/// Shells that can complete the program's command lines. A shell's script asks the program itself
/// for the words, so that it fits any version.
package enum CompletionShell: String, CaseIterable, Sendable {
  case bash, zsh, fish

  /// Lines for the script: how the shell completes names of files, if it does, then one line per
  /// candidate, with a tab before its help.
  package func answer(to words: [String], root: Command) -> String {
    guard self == .bash else { return lines(Completion(of: words, root: root)) }
    let (words, kept) = Completion.joinedAtBreaks(words)
    return lines(Completion(of: words, root: root), without: kept.count)
  }

  private func lines(_ completion: Completion, without count: Int = 0) -> String {
    let lines = completion.candidates.map { candidate in
      let word = String(candidate.word.dropFirst(count))
      return candidate.help.isEmpty ? word : word + "\t" + candidate.help
    }
    return ([completion.paths.rawValue] + lines).map { $0 + "\n" }.joined()
  }

  /// The script of the program with this name, which is also a word of its functions' names.
  package func script(of program: String) -> String {
    let text =
      switch self {
      case .bash: Self.bashScript
      case .zsh: Self.zshScript
      case .fish: Self.fishScript
      }
    return text.replacing("PROGRAM", with: program) + "\n"
  }

  private static let bashScript = #"""
    # Completion of PROGRAM for bash. To use it, add to ~/.bashrc:
    #   source <(PROGRAM completion bash)
    _PROGRAM() {
      local program=${COMP_WORDS[0]} paths= line
      COMPREPLY=()
      [[ $program != "~/"* ]] || program=$HOME/${program#"~/"}
      while IFS= read -r line; do
        if [[ -z $paths ]]; then
          paths=$line
        else
          COMPREPLY+=("${line%%$'\t'*}")
        fi
      done < <("$program" completion words bash -- \
        "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null < /dev/null)
      case $paths in
        files) compopt -o default 2> /dev/null ;;
        folders) compopt -o dirnames 2> /dev/null ;;
      esac
      # The value of a word such as focusMinutes= follows without a space.
      [[ ${#COMPREPLY[@]} -eq 0 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2> /dev/null
    }
    complete -F _PROGRAM PROGRAM
    """#

  private static let zshScript = #"""
    #compdef PROGRAM
    # Completion of PROGRAM for zsh. To use it, save it as _PROGRAM in a folder of $fpath, or add
    # to ~/.zshrc, after compinit:
    #   source <(PROGRAM completion zsh)
    _PROGRAM() {
      local line word help
      local -a program answer plain open
      program=(${~words[1]})
      answer=("${(@f)$("$program[1]" completion words zsh -- \
        "${(@Q)words[2,CURRENT]}" 2> /dev/null < /dev/null)}")
      case $answer[1] in
        files|folders)
          [[ $PREFIX != --*=* ]] || compset -P '*='
          if [[ $answer[1] == files ]]; then _files; else _files -/; fi
          return
          ;;
      esac
      for line in "${(@)answer[2,-1]}"; do
        word=${line%%$'\t'*}
        help=${line#*$'\t'}
        [[ $help != $line ]] || help=
        # The value of a word such as focusMinutes= follows without a space.
        if [[ $word == *= ]]; then
          open+=("${word//:/\\:}${help:+:$help}")
        else
          plain+=("${word//:/\\:}${help:+:$help}")
        fi
      done
      (( $#open )) && _describe -t words PROGRAM open -S ''
      (( $#plain )) && _describe -t words PROGRAM plain
    }
    if [[ $funcstack[1] == _PROGRAM ]]; then
      _PROGRAM "$@"
    else
      compdef _PROGRAM PROGRAM
    fi
    """#

  private static let fishScript = #"""
    # Completion of PROGRAM for fish. To use it, save it as
    # ~/.config/fish/completions/PROGRAM.fish
    function __PROGRAM_complete
        set -l words (commandline -opc) (commandline -ct)
        set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
        set -l answer (command $program completion words fish -- $words[2..] \
            2> /dev/null < /dev/null)
        set -l current (commandline -ct)
        set -l option (string replace -r -- '^((--[^=]+=)?).*' '$1' $current)
        set -l path (string replace -r -- '^--[^=]+=' '' $current)
        switch "$answer[1]"
            case files
                for each in (__fish_complete_path $path)
                    echo -- $option$each
                end
            case folders
                for each in (__fish_complete_directories $path '')
                    echo -- $option$each
                end
            case '*'
                printf '%s\n' $answer[2..]
        end
    end
    complete -c PROGRAM -f -a '(__PROGRAM_complete)'
    """#
}
