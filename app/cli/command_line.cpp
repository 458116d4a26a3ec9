// SPDX-License-Identifier: Apache-2.0
// Declares all verbs, parses, runs the chosen one; the parser's exceptions and any other end here.
#include "app/cli/command_line.h"

#include "app/cli/verb.h"
#include "model/base/nearest_name.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

namespace fourwalls::cli {

namespace {

constexpr const char* kVersion = "fourwalls-cli " FOURWALLS_VERSION;

/// The parser's complaint as one line on standard error.
int tellWrongUsage(const std::string& verb, std::string what, std::string meant = {})
{
    Console console(verb.empty() ? std::string("") : verb);
    const std::string program = verb.empty() ? "fourwalls-cli" : "fourwalls-cli " + verb;
    console.message(program + ": " + what + " (try: " + (meant.empty() ? "" : std::move(meant) + ", or ") + program +
                    " --help)");
    return kExitWrongUsage;
}

/// The option of a verb that was meant by one that it does not have.
std::string optionMeant(const CLI::App& command, std::string_view word)
{
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return nearestName(word.substr(0, word.find('=')), names);
}

/// An argument of a verb and its option in the parser, which keeps words only.
struct Declared {
    Argument argument;
    const CLI::Option* option;
};

Declared declare(CLI::App& app, const Argument& argument)
{
    if (argument.isFlag())
        return {argument, app.add_flag(argument.names, *std::get<bool*>(argument.target), argument.help)};
    CLI::Option* option = app.add_option(
        argument.names, [](const CLI::results_t&) { return true; }, argument.help);
    // Most options have one value each time; what stands by its place may be several.
    const bool isSeveral = argument.isSeveral || (argument.isList() && argument.names[0] != '-');
    option->type_name(argument.kind())->expected(1, isSeveral ? -1 : 1)->allow_extra_args(isSeveral);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->required(argument.isRequired);
    if (const std::string value = argument.defaultText(); !value.empty()) option->default_str(value);
    return {argument, option};
}

/// Puts what was given where it goes. afterDashes: words behind "--". Errors: InvalidArgument.
Status readArgument(const Declared& declared, std::size_t afterDashes)
{
    const Argument& argument = declared.argument;
    if (declared.option->count() == 0) return {};
    const std::string name = declared.option->get_name();
    if (argument.given) argument.given->push_back(name);
    if (argument.isFlag()) return {};
    const std::vector<std::string>& words = declared.option->results();
    if (argument.isCommand && words.size() != afterDashes)
        return Error{ErrorCode::InvalidArgument, "was not expected", "'" + words.front() + "'", "-- before a command"};
    if (words.size() > 1 && !argument.isList())
        return Error{ErrorCode::InvalidArgument, "is given twice", name, "one of them"};
    // A variable of a script that was never set is no wish to write nothing.
    if (name == "--output" && words.front().empty())
        return Error{ErrorCode::InvalidArgument, "the name is empty", "-o", "-o FILE"};
    for (const std::string& word : words) FOURWALLS_TRY(argument.read(name, word));
    return {};
}

/// Without memory for a string there is none for a message, so this needs none.
void tellOutOfMemory()
{
    static constexpr std::string_view kMessage =
        "fourwalls-cli: out of memory (try: a smaller batch, sequence or file)\n";
    static_cast<void>(!::write(STDERR_FILENO, kMessage.data(), kMessage.size()));
}

const std::terminate_handler usualEnd = std::get_terminate();

/// Libraries allocate in destructors that must not throw. The temporaries that are left then go with the next run.
void endWithoutMemory()
{
    if (const std::exception_ptr failure = std::current_exception()) {
        try {
            std::rethrow_exception(failure);
        } catch (const std::bad_alloc&) {
            tellOutOfMemory();
            ::_exit(kExitCouldNot);
        } catch (...) {
        }
    }
    usualEnd();
    std::abort();
}

} // namespace

int runCommandLine(int argc, const char* const* argv)
try {
    std::set_terminate(endWithoutMemory);
    std::signal(SIGPIPE, SIG_IGN); // a reader that went away is a failed write, not a death in mid-recording
    std::signal(SIGXFSZ, SIG_IGN); // so is a file that may grow no further
    CLI::App app{"Fourwalls: record, inspect and convert traces of large-model training steps.", "fourwalls-cli"};
    app.set_version_flag("--version", kVersion);
    app.require_subcommand(1);
    app.footer("Examples:\n"
               "  fourwalls-cli record -o run.fourwalls --model gpt-tiny --steps 20\n"
               "  fourwalls-cli metrics run.fourwalls\n"
               "  fourwalls-cli VERB --help");

    const std::vector<std::unique_ptr<Verb>> verbs = allVerbs();
    std::vector<CLI::App*> commands;
    std::vector<std::vector<Declared>> declared(verbs.size());
    bool json = false;
    for (std::size_t i = 0; i < verbs.size(); ++i) {
        const auto& verb = verbs[i];
        CLI::App* command = app.add_subcommand(verb->name(), verb->summary());
        command->add_flag("--json", json, "print JSON and nothing else on standard output");
        command->footer(std::string("Examples:\n") + verb->examples());
        for (const Argument& argument : verb->arguments()) declared[i].push_back(declare(*command, argument));
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
    if (argc >= 2 && argv[1][0] != '-' && !isVerb(argv[1])) {
        std::vector<std::string> names;
        for (const auto& verb : verbs) names.emplace_back(verb->name());
        return tellWrongUsage("", std::string("there is no verb '") + argv[1] + "'", nearestName(argv[1], names));
    }
    // Only the first one is ours: a later one belongs to the command.
    const auto dashes = std::find(argv + 1, argv + argc, std::string_view("--"));
    const std::size_t afterDashes = dashes == argv + argc ? 0 : static_cast<std::size_t>(argv + argc - dashes - 1);
    // The parser would take it for no arguments at all, and `record` would train a network instead of running a command.
    if (argc >= 3 && dashes == argv + argc - 1) return tellWrongUsage(argv[1], "nothing follows --");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ArgumentMismatch& error) {
        const std::string what = error.what();
        return tellWrongUsage(chosen(), what.substr(0, what.find(':')) + " needs a value");
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error); // help, version
        if (argc < 2) {
            std::cerr << app.help();
            return kExitWrongUsage;
        }
        // "The following arguments were not expected: dgx-h100 --clustr"
        const std::string what = error.what();
        const std::size_t unknown = what.find(" --", what.find(':'));
        std::string meant;
        for (const CLI::App* command : commands)
            if (command->parsed() && unknown != std::string::npos)
                meant = optionMeant(*command, what.substr(unknown + 1, what.find(' ', unknown + 1) - unknown - 1));
        return tellWrongUsage(chosen(), what, meant);
    }
    for (std::size_t i = 0; i < verbs.size(); ++i) {
        if (!commands[i]->parsed()) continue;
        Console console(verbs[i]->name());
        console.setJson(json);
        for (const Declared& each : declared[i]) {
            const Status status = readArgument(each, afterDashes);
            if (!status.ok()) return console.wrongUsage(status.error());
        }
        return verbs[i]->run(console);
    }
    return kExitWrongUsage;
} catch (const std::bad_alloc&) {
    tellOutOfMemory();
    return kExitCouldNot;
} catch (const std::exception& error) {
    Console("").message(std::string("fourwalls-cli: unexpected failure: ") + error.what());
    return kExitCouldNot;
}

} // namespace fourwalls::cli
