// SPDX-License-Identifier: Apache-2.0
// A test program: the tst_*.cpp of a folder, of which it runs the one that is asked for.
#pragma once
#include <QtTest>

#include <string>

namespace fourwalls::test {

/// One tst_*.cpp of a test program; `PROGRAM NAME …` runs it.
class TestFile {
public:
    using Run = int (*)(int argc, char** argv);

    /// sourcePath: the test's own __FILE__; its name is what stands there between `tst_` and the ending.
    TestFile(const char* sourcePath, Run function);

    const std::string& name() const { return m_name; }
    int run(int argc, char** argv) const { return m_run(argc, argv); }

private:
    std::string m_name;
    Run m_run;
};

template <class Test, class Application>
int runTest(int argc, char** argv)
{
    Application application(argc, argv);
    QCoreApplication::setAttribute(Qt::AA_Use96Dpi);
    Test test;
    return QTest::qExec(&test, argc, argv);
}

} // namespace fourwalls::test

/// Ends a tst_*.cpp: its class and the application that it needs (QCoreApplication, or QApplication where there are
/// windows). Files of a folder may be compiled together, so all of a file lies in a namespace of its name.
#define FOURWALLS_TEST(Test, Application) \
    static const fourwalls::test::TestFile thisFile(__FILE__, &fourwalls::test::runTest<Test, Application>);
