// SPDX-License-Identifier: Apache-2.0
// A file that is lent to somebody, as file servers do it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace fourwalls::test {

/// A lease on a file: whoever opens the file waits until it is given back.
class FileLease {
public:
    explicit FileLease(const std::string& path) : m_file(::open(path.c_str(), O_RDONLY | O_CLOEXEC))
    {
        ::signal(SIGIO, SIG_IGN); // that somebody waits is asked for, not told
        m_taken = m_file >= 0 && ::fcntl(m_file, F_SETLEASE, F_WRLCK) == 0;
    }
    ~FileLease()
    {
        if (m_file >= 0) ::close(m_file);
    }
    FileLease(const FileLease&) = delete;
    FileLease& operator=(const FileLease&) = delete;

    /// False where the file system has no leases.
    bool taken() const { return m_taken; }
    bool someoneWaits() const { return ::fcntl(m_file, F_GETLEASE) != F_WRLCK; }
    void giveBack() { ::fcntl(m_file, F_SETLEASE, F_UNLCK); }

private:
    int m_file = -1;
    bool m_taken = false;
};

} // namespace fourwalls::test
