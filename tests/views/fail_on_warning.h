// SPDX-License-Identifier: GPL-3.0-or-later
// A Qt warning fails the test that caused it: construct one FailOnWarning in init() and check it in cleanup().
#pragma once

#include <QStringList>
#include <QtTest/QtTest>

namespace fourwalls::tests {

/// Collects warnings while it lives. What only says that there is no display is passed over.
class FailOnWarning {
public:
    FailOnWarning()
    {
        collected().clear();
        m_before = qInstallMessageHandler(&FailOnWarning::handle);
    }
    ~FailOnWarning() { qInstallMessageHandler(m_before); }
    FailOnWarning(const FailOnWarning&) = delete;
    FailOnWarning& operator=(const FailOnWarning&) = delete;

    /// The warnings so far, and forgets them.
    static QString take()
    {
        const QString all = collected().join(QLatin1Char('\n'));
        collected().clear();
        return all;
    }

private:
    static QStringList& collected()
    {
        static QStringList list;
        return list;
    }

    static void handle(QtMsgType type, const QMessageLogContext&, const QString& message)
    {
        const bool aboutDisplay = message.startsWith(QLatin1String("This plugin does not support")) ||
                                  message.contains(QLatin1String("XDG_RUNTIME_DIR"));
        if (type != QtDebugMsg && type != QtInfoMsg && !aboutDisplay) collected().append(message);
    }

    QtMessageHandler m_before = nullptr;
};

} // namespace fourwalls::tests
