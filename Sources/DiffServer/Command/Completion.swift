import DiffService

/// `diffserver completion SHELL`: a script by which a shell completes commands, options and their values, out of the
/// table of options.
struct Completion {
    let parts: (any Parts.Type)?

    enum Shell: String, CaseIterable {
        case bash, zsh

        init(_ arguments: [String]) throws(UsageError) {
            guard arguments.count == 1, let shell = arguments.first.flatMap(Shell.init) else {
                throw UsageError("completion takes the name of a shell, bash or zsh; \(Help.Topic.completion.pointer)")
            }
            self = shell
        }
    }

    /// What may follow a word of the command line.
    private enum Operand {
        case nothing, file, anything
        case words([String])

        init(_ value: String?) {
            switch value {
            case nil: self = .nothing
            case "FILE", "PATH": self = .file
            case let value?:
                let words = value.split(separator: "|").filter { $0 == $0.lowercased() }
                self = value.contains("|") ? .words(words.map(String.init)) : .anything
            }
        }
    }

    private typealias Flag = (name: String, operand: Operand)

    func script(for shell: Shell) -> String { shell == .bash ? bash : zsh }

    private var commands: [Help.Topic] { Help.Topic.allCases.filter { $0 != .manual && Help(parts: parts).has($0) } }

    private func flags(of command: Help.Topic) -> [Flag] {
        if command == .serve || command == .healthCheck { return flags(Options.self) }
        return Help(parts: parts).commands.first { $0.topic == command }.map { flags($0) } ?? []
    }

    private func flags<Target: CommandOptions>(_ target: Target.Type) -> [Flag] {
        Target.all.filter { parts != nil || !Target.needsParts($0.flag, "") }.map { ($0.flag, Operand($0.value)) }
    }

    private func operands(of command: Help.Topic) -> Operand {
        switch command {
        case .overview: .words((commands + [.manual]).map(\.rawValue))
        case .completion: .words(Shell.allCases.map(\.rawValue))
        case .diff, .checkLists, .shape: .file
        case .serve, .healthCheck, .key, .token, .copy, .watch, .manual: .nothing
        }
    }

    // MARK: Scripts

    private var bash: String {
        let cases = commands.map { command in
            let flags = flags(of: command)
            let values = flags.compactMap { flag in
                action(flag.operand).map { "            \(flag.name)) \($0); return ;;\n" }
            }
            let operands = if case .words(let words) = operands(of: command) { words } else { [String]() }
            let choices = values.isEmpty ? "" : "        case $previous in\n\(values.joined())        esac\n"
            return """
                    \(command.rawValue))
                \(choices)        words='\((flags.map(\.name) + operands).joined(separator: " "))' ;;

                """
        }
        return """
            # bash completion of diffserver \(Version.text): diffserver completion bash
            _diffserver() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
                local command=${COMP_WORDS[1]} words=
                case $command in -*) command=serve ;; esac
                if [ "$COMP_CWORD" = 1 ] && [ "${word#-}" = "$word" ]; then
                    COMPREPLY=($(compgen -W '\(commands.map(\.rawValue).joined(separator: " ")) version' -- "$word"))
                    return
                fi
                case $command in
            \(cases.joined())    esac
                COMPREPLY=($(compgen -W "$words" -- "$word"))
            }
            complete -o default -F _diffserver diffserver

            """
    }

    /// What completes a flag's value in bash; nil for a switch.
    private func action(_ operand: Operand) -> String? {
        switch operand {
        case .nothing: nil
        case .file: "COMPREPLY=($(compgen -f -- \"$word\"))"
        case .anything: "COMPREPLY=()"
        case .words(let words): "COMPREPLY=($(compgen -W '\(words.joined(separator: " "))' -- \"$word\"))"
        }
    }

    private var zsh: String {
        let cases = commands.map { command in
            let lines = flags(of: command).map { "'*\($0.name)\(action($0.operand, after: "="))'" }
            let operands = action(operands(of: command), after: "*")
            return "        \(command.rawValue)) _arguments \((lines + ["'\(operands)'"]).joined(separator: " ")) ;;\n"
        }
        return """
            #compdef diffserver
            # zsh completion of diffserver \(Version.text): diffserver completion zsh
            _diffserver() {
                if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
                    compadd \(commands.map(\.rawValue).joined(separator: " ")) version
                    return
                fi
                local command=$words[2]
                if [[ $command == -* ]]; then command=serve; else shift words; (( CURRENT-- )); fi
                case $command in
            \(cases.joined())    esac
            }
            _diffserver "$@"

            """
    }

    /// What completes a word in the notation of `_arguments`; empty where there is none.
    private func action(_ operand: Operand, after sign: String) -> String {
        switch operand {
        case .nothing: sign == "=" ? "" : "*: :"
        case .file: "\(sign):file:_files"
        case .anything: "\(sign):value: "
        case .words(let words): "\(sign):word:(\(words.joined(separator: " ")))"
        }
    }
}
