// SPDX-License-Identifier: GPL-3.0-or-later
// The program as scripts see it: exit codes, one line on standard error, nothing else.
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest/QtTest>

#include "tests/support/test_program.h"

namespace tst_program {

class TestProgram : public QObject {
    Q_OBJECT
private:
    struct Outcome {
        int code = -1;
        QString out, err;
    };

    static Outcome run(const QStringList& arguments)
    {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        for (const char* name : {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"})
            environment.remove(QLatin1String(name));
        process.setProcessEnvironment(environment);
        process.start(QStringLiteral(FOURWALLS_BIN_DIR "/fourwalls"), arguments);
        if (!process.waitForFinished(60'000) || process.exitStatus() != QProcess::NormalExit) return {};
        return {process.exitCode(), QString::fromUtf8(process.readAllStandardOutput()),
                QString::fromUtf8(process.readAllStandardError())};
    }

    /// A trace of the demos in that folder; empty: it could not be written.
    static QString unpacked(const QString& name, const QTemporaryDir& folder)
    {
        QFile packed(QStringLiteral(FOURWALLS_SOURCE_DIR "/resources/demos/%1.z").arg(name));
        QFile file(folder.filePath(name));
        const bool opened = packed.open(QIODevice::ReadOnly) && file.open(QIODevice::WriteOnly);
        return opened && file.write(qUncompress(packed.readAll())) > 0 ? file.fileName() : QString();
    }

private slots:
    void helpAndVersion()
    {
        const Outcome help = run({QStringLiteral("--help")});
        QCOMPARE(help.code, 0);
        QVERIFY(help.out.contains(QStringLiteral("--render")) && help.out.contains(QStringLiteral("timeline")));
        QCOMPARE(run({QStringLiteral("--version")}).code, 0);
    }

    void wrongUsageIsTwo()
    {
        for (const QStringList& arguments :
             {QStringList{QStringLiteral("--render"), QStringLiteral("nosuch"), QStringLiteral("-o"),
                          QStringLiteral("a.png"), QStringLiteral("f")},
              QStringList{QStringLiteral("--size"), QStringLiteral("1x1")}, QStringList{QStringLiteral("--bench")},
              QStringList{QStringLiteral("--no-such-option")}}) {
            const Outcome outcome = run(arguments);
            QCOMPARE(outcome.code, 2);
            QCOMPARE(outcome.err.trimmed().count(QLatin1Char('\n')), 0);
            QVERIFY(outcome.out.isEmpty());
        }
    }

    void aFileThatCannotBeOpenedIsOne()
    {
        QTemporaryDir folder;
        QFile text(folder.filePath(QStringLiteral("text.fourwalls")));
        QVERIFY(text.open(QIODevice::WriteOnly));
        text.write("not a trace\n");
        text.close();
        const QString picture = folder.filePath(QStringLiteral("a.png"));
        for (const QString& file :
             {text.fileName(), folder.filePath(QStringLiteral("missing.fourwalls")), folder.path()}) {
            for (const QStringList& mode : {QStringList{QStringLiteral("--render"), QStringLiteral("timeline"),
                                                        QStringLiteral("-o"), picture, file},
                                            QStringList{QStringLiteral("--bench"), file, QStringLiteral("--json")}}) {
                const Outcome outcome = run(mode);
                QCOMPARE(outcome.code, 1);
                QVERIFY2(!outcome.err.trimmed().isEmpty(), qPrintable(file));
                QVERIFY2(outcome.err.trimmed().count(QLatin1Char('\n')) == 0, qPrintable(outcome.err));
            }
        }
        // The pages that take no trace: what they cannot read is an error, not a picture of one.
        for (const char* view : {"runs", "hang"}) {
            const Outcome outcome =
                run({QStringLiteral("--render"), QLatin1String(view), QStringLiteral("-o"), picture, text.fileName()});
            QCOMPARE(outcome.code, 1);
            QVERIFY2(outcome.err.contains(QStringLiteral("text.fourwalls")), qPrintable(outcome.err));
            QVERIFY2(outcome.err.trimmed().count(QLatin1Char('\n')) == 0, qPrintable(outcome.err));
        }
        QVERIFY(!QFile::exists(picture));
    }

    void anUnknownDemoIsWrongUsage()
    {
        const Outcome outcome = run({QStringLiteral("--demo"), QStringLiteral("bubble")});
        QCOMPARE(outcome.code, 2);
        QVERIFY2(outcome.err.contains(QStringLiteral("tour")), qPrintable(outcome.err)); // those that there are
        QVERIFY(run({QStringLiteral("--help")}).out.contains(QStringLiteral("tour")));
    }

    void rendersTheWelcomePageWithoutDisplay()
    {
        QTemporaryDir folder;
        const QString picture = folder.filePath(QStringLiteral("welcome.png"));
        const Outcome outcome = run({QStringLiteral("--render"), QStringLiteral("welcome"), QStringLiteral("--size"),
                                     QStringLiteral("1000x640"), QStringLiteral("-o"), picture});
        QCOMPARE(outcome.code, 0);
        QCOMPARE(outcome.err, QString());
        QFile file(picture);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.read(8).startsWith("\x89PNG"));
    }

    void aRangeOutsideOfTheTraceIsNotDrawn()
    {
        QTemporaryDir folder;
        const QString picture = folder.filePath(QStringLiteral("picture.png"));
        const QString trace = unpacked(QStringLiteral("gpt.fourwalls"), folder);
        QVERIFY(!trace.isEmpty());
        const Outcome outcome = run({QStringLiteral("--render"), QStringLiteral("timeline"), QStringLiteral("--range"),
                                     QStringLiteral("99s:100s"), QStringLiteral("-o"), picture, trace});
        QCOMPARE(outcome.code, 1);
        QVERIFY2(outcome.err.contains(QStringLiteral("lies outside")), qPrintable(outcome.err));
        QVERIFY(!QFile::exists(picture));
    }

    void aSmallPictureHasRoomForAllControls()
    {
        // Some are there only when the replay has answered: the page grows then, and scrolls.
        QTemporaryDir folder;
        const QString picture = folder.filePath(QStringLiteral("picture.svg"));
        const QString trace = unpacked(QStringLiteral("pipe_1f1b.fourwalls"), folder);
        QVERIFY(!trace.isEmpty());
        const Outcome outcome = run({QStringLiteral("--render"), QStringLiteral("pipeline"), QStringLiteral("--size"),
                                     QStringLiteral("800x500"), QStringLiteral("-o"), picture, trace});
        QCOMPARE(outcome.code, 0);
        QFile file(picture);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray drawn = file.readAll();
        for (const char* text : {"Order of the passes", "Chunks per stage", "stage 0", "stage 3"})
            QVERIFY2(drawn.contains(text), text);
    }

    void aWindowWithoutDisplayIsOne()
    {
        const Outcome outcome = run({});
        QCOMPARE(outcome.code, 1);
        QVERIFY(outcome.err.contains(QStringLiteral("--render")));
    }
};

FOURWALLS_TEST(TestProgram, QCoreApplication)

} // namespace tst_program

#include "tst_program.moc"
