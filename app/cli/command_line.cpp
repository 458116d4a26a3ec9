// SPDX-License-Identifier: Apache-2.0
// Declares all verbs, parses, runs the chosen one; the parser's exceptions and any other end here.
#include "app/cli/command_line.h"

#include "app/cli/verb.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace fourwalls::cli {

namespace {

constexpr const char* kVersion = "fourwalls-cli " FOURWALLS_VERSION;

/// The parser's complaint as one line on standard error.
int tellWrongUsage(const std::string& verb, std::string what)
{
    Console console(verb.empty() ? std::string("") : verb);
    const std::string program = verb.empty() ? "fourwalls-cli" : "fourwalls-cli " + verb;
    console.message(program + ": " + what + " (try: " + program + " --help)");
    return kExitWrongUsage;
}

/// A default worth showing: neither empty nor zero.
template <class T>
bool saysSomething(const T& value)
{
    if constexpr (std::is_arithmetic_v<T>)
        return value != 0;
    else if constexpr (std::is_same_v<T, std::string>)
        return !value.empty();
    else
        return false;
}

CLI::Option* declare(CLI::App& app, const Argument& argument)
{
    CLI::Option* const option = std::visit(
        [&]<class T>(T* target) {
            if constexpr (std::is_same_v<T, bool>) {
                return app.add_flag(argument.names, *target, argument.help);
            } else {
                CLI::Option* const made = app.add_option(argument.names, *target, argument.help);
                return saysSomething(*target) ? made->capture_default_str() : made;
            }
        },
        argument.target);
    option->required(argument.isRequired);
    return argument.words.empty() ? option : option->check(CLI::IsMember(argument.words));
}

} // namespace

int runCommandLine(int argc, const char* const* argv)
try {
    std::signal(SIGPIPE, SIG_IGN); // a reader that went away is a failed write, not a death in mid-recording
    CLI::App app{"Fourwalls: record, inspect and convert traces of large-model training steps.", "fourwalls-cli"};
    app.set_version_flag("--version", kVersion);
    app.require_subcommand(1);
    app.footer("Examples:\n"
               "  fourwalls-cli record -o run.fourwalls --model gpt-tiny --steps 20\n"
               "  fourwalls-cli metrics run.fourwalls\n"
               "  fourwalls-cli VERB --help");

    const std::vector<std::unique_ptr<Verb>> verbs = allVerbs();
    std::vector<CLI::App*> commands;
    std::vector<std::pair<const CLI::Option*, std::vector<std::string>*>> noted;
    bool json = false;
    for (const auto& verb : verbs) {
        CLI::App* command = app.add_subcommand(verb->name(), verb->summary());
        command->add_flag("--json", json, "print JSON and nothing else on standard output");
        command->footer(std::string("Examples:\n") + verb->examples());
        for (const Argument& argument : verb->arguments()) {
            const CLI::Option* option = declare(*command, argument);
            if (argument.given) noted.emplace_back(option, argument.given);
        }
        commands.push_back(command);
    }
    const auto chosen = [&]() -> std::string {
        for (std::size_t i = 0; i < verbs.size(); ++i)
            if (commands[i]->parsed()) return verbs[i]->name();
        return {};
    };

    const auto isVerb = [&](std::string_view word) {
        return std::any_of(verbs.begin(), verbs.end(), [word](const auto& verb) { return verb->name() == word; });
    };
    if (argc >= 2 && argv[1][0] != '-' && !isVerb(argv[1]))
        return tellWrongUsage("", std::string("there is no verb '") + argv[1] + "'");
    // The parser would take it for no arguments at all, and `record` would train a network instead of running a command.
    // Only the first one is ours: a later one belongs to the command.
    if (argc >= 3 && std::find(argv + 1, argv + argc, std::string_view("--")) == argv + argc - 1)
        return tellWrongUsage(argv[1], "nothing follows --");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error); // help, version
        if (argc < 2) {
            std::cerr << app.help();
            return kExitWrongUsage;
        }
        return tellWrongUsage(chosen(), error.what());
    }
    for (const auto& [option, given] : noted)
        if (option->count() > 0) given->push_back(option->get_name());
    for (std::size_t i = 0; i < verbs.size(); ++i) {
        if (!commands[i]->parsed()) continue;
        Console console(verbs[i]->name());
        console.setJson(json);
        return verbs[i]->run(console);
    }
    return kExitWrongUsage;
} catch (const std::bad_alloc&) {
    Console("").message("fourwalls-cli: out of memory (try: a smaller batch, sequence or file)");
    return kExitCouldNot;
} catch (const std::exception& error) {
    Console("").message(std::string("fourwalls-cli: unexpected failure: ") + error.what());
    return kExitCouldNot;
}

} // namespace fourwalls::cli
