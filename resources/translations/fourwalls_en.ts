<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_US">
<context>
    <name>AreaPanel</name>
    <message numerus="yes">
        <source>%n tracks of rank %1</source>
        <translation>
            <numerusform>%n track of rank %1</numerusform>
            <numerusform>%n tracks of rank %1</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tracks of %1 ranks</source>
        <translation>
            <numerusform>%n track of %1 ranks</numerusform>
            <numerusform>%n tracks of %1 ranks</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>BandwidthCard</name>
    <message numerus="yes">
        <source>%n slower than the axis shows</source>
        <translation>
            <numerusform>%n slower than the axis shows</numerusform>
            <numerusform>%n slower than the axis shows</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>FileOpener</name>
    <message numerus="yes">
        <source>Importing %1 and %n more file(s) as one run</source>
        <translation>
            <numerusform>Importing %1 and %n more file as one run</numerusform>
            <numerusform>Importing %1 and %n more files as one run</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>FindBox</name>
    <message numerus="yes">
        <source>%n more</source>
        <translation>
            <numerusform>%n more</numerusform>
            <numerusform>%n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>FindingsView</name>
    <message numerus="yes">
        <source>%n thing(s) wrong with this run</source>
        <translation>
            <numerusform>%n thing wrong with this run</numerusform>
            <numerusform>%n things wrong with this run</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n cost(s) of its plan and program</source>
        <translation>
            <numerusform>%n cost of its plan and program</numerusform>
            <numerusform>%n costs of its plan and program</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>HangMatrixPlot</name>
    <message numerus="yes">
        <source>%1 (%n)</source>
        <translation>
            <numerusform>%1 (%n)</numerusform>
            <numerusform>%1 (%n)</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more kind(s) of groups</source>
        <translation>
            <numerusform>%n more kind of groups</numerusform>
            <numerusform>%n more kinds of groups</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>HangPage</name>
    <message numerus="yes">
        <source>%n rank(s)</source>
        <translation>
            <numerusform>%n rank</numerusform>
            <numerusform>%n ranks</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1: the job hangs because of %n of them</source>
        <translation>
            <numerusform>%1: the job hangs because of one of them</numerusform>
            <numerusform>%1: the job hangs because of %n of them</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>And %n more, below.</source>
        <translation>
            <numerusform>And one more, below.</numerusform>
            <numerusform>And %n more, below.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>The dumps do not agree on who is in %n group(s): are they of one job?</source>
        <translation>
            <numerusform>The dumps do not agree on who is in one group: are they of one job?</numerusform>
            <numerusform>The dumps do not agree on who is in %n groups: are they of one job?</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>HangWords</name>
    <message numerus="yes">
        <source>%1 wait(s) for %2 in %3 (%4)</source>
        <translation>
            <numerusform>%1 waits for %2 in %3 (%4)</numerusform>
            <numerusform>%1 wait for %2 in %3 (%4)</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>OperatorsPage</name>
    <message numerus="yes">
        <source>sums over %n rank(s)</source>
        <translation>
            <numerusform>sums over %n rank</numerusform>
            <numerusform>sums over %n ranks</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source> and %n step(s)</source>
        <translation>
            <numerusform> and %n step</numerusform>
            <numerusform> and %n steps</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>RunFilesDialog</name>
    <message numerus="yes">
        <source>%n file(s) become one run.</source>
        <translation>
            <numerusform>%n file becomes one run.</numerusform>
            <numerusform>%n files become one run.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n other(s) are no profiles and are left alone.</source>
        <translation>
            <numerusform>%n other is no profile and is left alone.</numerusform>
            <numerusform>%n others are no profiles and are left alone.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n profile(s) cannot be read.</source>
        <translation>
            <numerusform>%n profile cannot be read.</numerusform>
            <numerusform>%n profiles cannot be read.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>RunsPage</name>
    <message numerus="yes">
        <source>%n run(s)</source>
        <translation>
            <numerusform>%n run</numerusform>
            <numerusform>%n runs</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n diverged</source>
        <translation>
            <numerusform>%n diverged</numerusform>
            <numerusform>%n diverged</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) left out</source>
        <translation>
            <numerusform>%n file left out</numerusform>
            <numerusform>%n files left out</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n spike(s)</source>
        <translation>
            <numerusform>%n spike</numerusform>
            <numerusform>%n spikes</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>StatusStrip</name>
    <message numerus="yes">
        <source>%n rank(s)</source>
        <translation>
            <numerusform>%n rank</numerusform>
            <numerusform>%n ranks</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n step(s)</source>
        <translation>
            <numerusform>%n step</numerusform>
            <numerusform>%n steps</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>TimelineAxis</name>
    <message numerus="yes">
        <source>and %n more, zoom in to tell them apart</source>
        <translation>
            <numerusform>and %n more, zoom in to tell them apart</numerusform>
            <numerusform>and %n more, zoom in to tell them apart</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>TimelineCanvas</name>
    <message numerus="yes">
        <source>%1 · %n tracks</source>
        <translation>
            <numerusform>%1 · %n track</numerusform>
            <numerusform>%1 · %n tracks</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>WhatIfPanel</name>
    <message numerus="yes">
        <source>%n value(s) are not in the trace itself</source>
        <translation>
            <numerusform>%n value is not in the trace itself</numerusform>
            <numerusform>%n values are not in the trace itself</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n modules</source>
        <translation>
            <numerusform>%n module</numerusform>
            <numerusform>%n modules</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>fourwalls::views::SliceFacts</name>
    <message numerus="yes">
        <source>%1, %n ranks, no. %2</source>
        <translation>
            <numerusform>%1, %n rank, no. %2</numerusform>
            <numerusform>%1, %n ranks, no. %2</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more</source>
        <translation>
            <numerusform>%n more</numerusform>
            <numerusform>%n more</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>longest of %n inside</source>
        <translation>
            <numerusform>longest of %n inside</numerusform>
            <numerusform>longest of %n inside</numerusform>
        </translation>
    </message>
</context>
</TS>
