// SPDX-License-Identifier: Apache-2.0
// fork, exec, and a loop over signals.
#include "app/cli/child_program.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fourwalls::cli {

namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

} // namespace

std::vector<char*> execPointers(std::vector<std::string>& texts)
{
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

Result<ChildEnd> runChild(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment, bool outputToError)
{
    std::vector<std::string> arguments = command, variables;
    for (char** variable = environ; *variable; ++variable) {
        const std::string text = *variable;
        if (!environment.contains(text.substr(0, text.find('=')))) variables.push_back(text);
    }
    for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
    const std::vector<char*> argv = execPointers(arguments), envp = execPointers(variables);
    int failed[2];
    if (pipe2(failed, O_CLOEXEC) != 0)
        return Error{ErrorCode::Io, std::string("no pipe: ") + std::strerror(errno), command.front(),
                     "end other programs"};
    sigset_t watched, before;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    for (const int signal : kPassedOn) sigaddset(&watched, signal);
    sigprocmask(SIG_BLOCK, &watched, &before);
    const pid_t child = fork();
    if (child == 0) { // nothing but system calls until the program is replaced
        sigprocmask(SIG_SETMASK, &before, nullptr);
        if (outputToError) dup2(STDERR_FILENO, STDOUT_FILENO);
        execvpe(argv[0], argv.data(), envp.data());
        const int reason = errno;
        if (write(failed[1], &reason, sizeof reason) < 0) _exit(126);
        _exit(127);
    }
    close(failed[1]);
    int reason = child < 0 ? errno : 0;
    if (child > 0 && read(failed[0], &reason, sizeof reason) != static_cast<ssize_t>(sizeof reason)) reason = 0;
    close(failed[0]);
    int status = 0;
    while (child > 0) {
        if (waitpid(child, &status, reason != 0 ? 0 : WNOHANG) == child) break;
        siginfo_t info{};
        const int signal = sigwaitinfo(&watched, &info);
        if (signal <= 0 || signal == SIGCHLD) continue;
        if (info.si_code != SI_KERNEL) kill(child, signal);
    }
    // What is still pending was meant for the child.
    const timespec atOnce{};
    while (sigtimedwait(&watched, nullptr, &atOnce) > 0) {
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (reason != 0) {
        const ErrorCode code = reason == ENOENT ? ErrorCode::NotFound : ErrorCode::Io;
        return Error{code, std::string("cannot be started: ") + std::strerror(reason), command.front(),
                     "the program's name or path after --"};
    }
    ChildEnd end;
    if (WIFSIGNALED(status))
        end.signal = WTERMSIG(status);
    else
        end.exitCode = WEXITSTATUS(status);
    return end;
}

} // namespace fourwalls::cli
