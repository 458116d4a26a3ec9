// SPDX-License-Identifier: GPL-3.0-or-later
// What tests of the window begin with: English and the light theme, and a warning of Qt fails the test that caused it.
#pragma once

#include "app/gui/appearance.h"
#include "tests/views/fail_on_warning.h"

#include <QString>
#include <QtTest/QtTest>

#include <memory>

namespace fourwalls::tests {

/// A test has this beside its QObject: its init is beginInEnglish, its cleanup is failOnWarnings.
class WindowStart {
protected:
    void beginInEnglish()
    {
        m_warnings = std::make_unique<FailOnWarning>();
        gui::applyLanguage(QStringLiteral("en"));
        gui::applyTheme(false);
    }
    static void failOnWarnings() { QCOMPARE(FailOnWarning::take(), QString()); }

private:
    std::unique_ptr<FailOnWarning> m_warnings;
};

} // namespace fourwalls::tests
