import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

/**
 * The language of the project: one term for each concept, comments in full sentences, actors with a name. Each rule holds
 * for the entire tree.
 */
const ROOT = join(import.meta.dirname, '..');

const FOLDERS: readonly string[] = ['bench', 'bin', 'console', 'docs', 'scripts', 'src', 'test'];
const PAGES: readonly string[] = ['CHANGELOG.md', 'README.md', 'SECURITY.md'];
/** Built files, foreign vectors, and this list of retired words itself. */
const EXCLUDED = /^(console\/web\/dist|test\/vectors|test\/language\.test\.ts)/;

/** Names that another term has replaced. */
const RETIRED = new Set(
  `
    afterFailure allowanceOf alsoWrites Answer answeredWithin answerFor answerOf approvalOr areNeeded areOne Asked
    AskedAmount AskedCall Asker Asking atStatus auditLooksPerPerson AuditReading authorityFileIn bareServer beginLook
    Begun belongTogether bitsOf blamesNumber Books ByHand byTwo callsAtOnce captureByHand carriedOut carryOut Chains
    chainsAnnouncedBy changesOf checkSpan Chore ComparedTable concernsAll Configured countDoubtful Counted
    countedRepeats counterOfDone Courier CyberSourceBooks CyberSourceStandIn decimalOf Deletable Dice digestOfHeads
    doubtfulPayments drawToken dropDraft effectOf Enabling Ending endOfAll endsConnection eraseSensitive evenSuspended
    eventInEach expectsMore exportedRecord failedFor faultAt FiledPayment Filled findCode findingOf findLane
    findNewest findNotified firstFilled firstLook firstThatReads fitsAccount forgetDeletedTokens forgetOld forPeople
    Gate GivenSettings givenUp giveUp Habits hashAnswer hashesAtOnce headIsSealed Healing holdHeads holdsDisguisedPan
    holdsPan House idsFrom inBin isAboutCommit isBeyondUs isCsrf isDayFull isGivenUp isIssued isMarked iso8601
    isOlderThan isOurs isOurTurn isSought isToBeLookedAt isTold isWorthTelling Joined Joining joseAnswer journalHeads
    Judgement keepNotes Kept keptIdentity KeyFault KeyTraits KoinBooks KoinStandIn LateChange lateUntil Lifetimes
    linkAfter linkIsBad linksOf linkUnlessThere listAuditOfService listedDoubts ListingStore longBody longExpiry Look
    lookAtInvitation lookedAt lookedUntil looksInside Made madeBy madeCredential makeAuthority makeDraft makeOnce
    makeRecoveryCodes makeSchema makeSelfSigned makeServerIdentity markJson markOf MarkStore markStretch markText
    markTexts markXml mayBecome mayFit mayHappen mergedToken middleAt Missed mixedLinksOf moveDue Movement
    movementVerdict mustBeAllowed mustBeAt mustBeGoodPassword mustBePlain mustBeReadable mustBeReadableIn mustBeThere
    mustEncrypt mustNotBeSuspended mustStillInvite namesKey Newcomer Newest nextLook nextNewsAt noAnswer noRoom
    noRoomForPeople noteDone noteFailure noteSeen noteUses Notifier Observe Obstacle ofEnding Offered offeredBy
    ofMovement ofTenant onceAnswered openIfGenuine openNewest openPeople openSensitive opensInTime operateAlone
    operateOn originOfConsole outcomeCounted overTheLine OwnFactors partInfo Parting partingOf passwordForm passwordOf
    paymentAnswer PeopleHouse PeopleParts Performed Performer phraseFor Piece Place placeholderIn placeIn placeOf
    placeOfKey placesOf PlainAnswer PlainHead PlainRequest processorAnswerBytes productionByTwo ProofRefusal
    Provenance putAttempts putProductionByTwo Questions ReadBy ReadCard readCard readCursor Readers readExpiry
    readHits readNewPasskey readPan readPublicKey readSearch readSignature recallPayment refundByHand refusedForNow
    refuseIfTakenOver refuseNewer refuseOtherMedia remainsOf Remembered rememberedReadings renderOperation Replaceable
    replaceMarks resetFits resetPersonOf roomForKey rowsPerLook saidAs sameEmailForm sealOfKey Securing Seen
    seenEntries seenFree sendInPieces SentElement serviceServer setProductionByTwo settingsInForce settingsTable
    SettledAs shortExpiry shortUserAgent ShownActivation ShownSetting shownSettings showTeamOf softVerdict spendFactor
    spendInvitation Standing standingOf startHouse startScreen stepCounted Streamed Stretch takeIntoUse Tally
    timeOrNull tlsOf tokenDraws tokensMarkedPerRound Told toldFrom toldOf TotalsOfTenant TrialMeans Tried
    truncateDisguisedPansIn tryOut turnToLook typedSettings typedTime UnderWay Undoing unknownOrigin untilSettled
    useByTwo usedCredential useHeldPage useLookAgain useShown Vitals voidAgain voidByHand waitingApprovals
    waitingCallCharacters waitingHashes waitingUnits Walked Wanted wasJustUsed whenThere whoIs whyNot wirePayments
    withLikeSeparatorsDashed withUnseenShown wordAbout wordsIn writeCursor wrongUse wssecAnswer
`
    .trim()
    .split(/\s+/),
);

/** Names of variables and members that say nothing about their value; tests had many of them. */
const VAGUE = new Set('ASKED begun deeds nobody said says sought standIn stands told'.split(' '));

/** Phrases that titles of tests had for what the glossary names otherwise: "is told" for "is reported". */
const VAGUE_TITLE =
  /\b(nobody|everybody|told|tells|asked|asks|books|stands|forgets|gives? back|given back|lets? in|is gone|all the same|anew|(this|one) time|comes? back|once more|at the same moment)\b|\b(of|for|by|to) who\b|\bthere (is|are) not\b/i;

/** Openings of fragments, which leave the subject open. */
const OPENING = /^(Of|What|Whoever|Who|That|Those|All that|Whether|Also|Beside|As|Then)\b/;
/** Phrases without a named actor or time, and those that another term has replaced. */
const PHRASE = new RegExp(
  `\\b(${[
    'whoever|somebody|nobody|anybody|stand-ins?|of late|as good as|stands otherwise|in the books',
    'given up|gives up|looked at|look(s|ed)? into|by hand|anew|under way|goes on|now and then|for good|of its own accord',
  ].join('|')})\\b`,
  'i',
);
const BRITISH = new RegExp(
  `\\b(${[
    '(un)?authoris|behaviour|colour|favour|honour|(un)?licence|minimis|neighbour|(de)?normalis|organis|(un)?recognis',
    '(de)?serialis|summaris|synchronis|(de)?tokenis',
  ].join('|')})\\w*`,
  'i',
);

interface TextFile {
  readonly path: string;
  readonly text: string;
}

const listFiles = (place: string): TextFile[] =>
  globSync([place, `${place}/**/*`], { cwd: ROOT })
    .filter((path) => /\.(ts|tsx|mjs|java|sql|md)$/.test(path) && !EXCLUDED.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

const isPage = (path: string): boolean => path.endsWith('.md');

/** Returns the text of each comment. Lines that follow one another are one comment. */
function listComments(text: string): string[] {
  const pattern = /(?<=^|\s)\/\*\*? ?([\s\S]*?)\*\/|(?:^[ \t]*(?:\/\/|--)[^\n]*\n)+|[ \t]\/\/ [^\n]*/gm;
  return [...text.matchAll(pattern)]
    .map(([comment]) =>
      comment
        .replace(/^[ \t]*(\/\*\*?|\*\/|\*|\/\/|--)[ \t]*/gm, '')
        .replace(/\*\/$/, '')
        .trim(),
    )
    .filter((comment) => !comment.startsWith('biome-ignore'));
}

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, ' ').replace(/(^|\s)\/\/[^\n]*/g, ' ');

/** Returns the strings that are sentences: titles of tests, messages, descriptions. Values in them are left out. */
const listSentences = (text: string): string[] =>
  [...withoutComments(text).matchAll(/'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`/g)]
    .map(([, single, double, template]) => (single ?? double ?? template ?? '').replace(/\$\{[^}]*\}/g, ''))
    .filter((each) => /[a-z,;:] [a-z]+ /.test(each) && !/^(alter|select|insert|update|delete|create) /i.test(each));

const listNames = (text: string): readonly string[] =>
  withoutComments(text)
    .replace(/'[^'\n]*'|"[^"\n]*"|(?<=[(,=:]\s*)\/(?:\\.|[^/\n\\])+\//g, ' ')
    .match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? [];

const listProse = ({ path, text }: TextFile): readonly string[] =>
  isPage(path) ? text.split('\n') : [...listComments(text), ...listSentences(text)];

const isTest = (path: string): boolean => /(^(test|bench)\/.*|\.test)\.tsx?$/.test(path);

const listTitles = (text: string): string[] =>
  [...withoutComments(text).matchAll(/\b(?:describe|it|test)\(\s*(?:'((?:\\.|[^'\\])*)'|"([^"]*)"|`([^`]*)`)/g)].map(
    ([, single, double, template]) => (single ?? double ?? template ?? '').replace(/\$\{[^}]*\}/g, ''),
  );

type Rule = (file: TextFile) => readonly string[];

const retiredNames: Rule = ({ path, text }) =>
  isPage(path) ? [] : [...new Set(listNames(text))].filter((name) => RETIRED.has(name));
const vagueNames: Rule = ({ path, text }) =>
  isTest(path) ? [...new Set(listNames(text))].filter((name) => VAGUE.has(name)) : [];
const vagueTitles: Rule = ({ path, text }) =>
  isTest(path) ? listTitles(text).filter((title) => VAGUE_TITLE.test(title)) : [];
const fragments: Rule = ({ path, text }) =>
  isPage(path) ? [] : listComments(text).filter((comment) => OPENING.test(comment));
/** Lists comments that start with a word in lower case, except names of columns and commands. */
const lowerCase: Rule = ({ path, text }) =>
  /\.tsx?$/.test(path) ? listComments(text).filter((comment) => /^[a-z]+[ ,.]/.test(comment)) : [];
const retiredPhrases: Rule = (file) => listProse(file).filter((each) => PHRASE.test(each));
const britishSpellings: Rule = (file) => listProse(file).filter((each) => BRITISH.test(each));

describe('the language of the project', () => {
  for (const [name, rule] of [
    ['no retired name', retiredNames],
    ['no vague name in a test', vagueNames],
    ['no vague title of a test', vagueTitles],
    ['no comment that opens with a fragment', fragments],
    ['no comment that starts in lower case', lowerCase],
    ['no retired phrase', retiredPhrases],
    ['no British spelling', britishSpellings],
  ] as const)
    for (const place of [...FOLDERS, ...PAGES])
      test(`${place}: ${name}`, () => {
        const files = listFiles(place);
        assert.ok(files.length > 0, `${place} has no files; remove it from the list`);
        const found = files.flatMap((file) => rule(file).map((each) => `${file.path}: ${each}`));
        assert.equal(found.join('\n'), '');
      });

  test('finds what it forbids', () => {
    const code = (text: string): TextFile => ({ path: 'a.ts', text });
    assert.deepEqual(retiredNames(code("const kept: House = of('Kept', /Told/); // Told")), ['House']);
    const inTest = (text: string): TextFile => ({ path: 'test/a.test.ts', text });
    assert.deepEqual(vagueNames(inTest("const told = f('asked', sought) // said")), ['told', 'sought']);
    assert.deepEqual(vagueNames(code('const told = 1;')), []);
    assert.deepEqual(
      vagueTitles(inTest(`it('is told', f); test('a word is gone', f); describe('told.', g('told'));`)),
      ['is told', 'a word is gone', 'told.'],
    );
    assert.deepEqual(
      fragments(code('/** What it is. */\n// Also this\n// one\nconst a = 1; // That\n/** Returns. */')),
      ['What it is.', 'Also this\none', 'That'],
    );
    assert.deepEqual(lowerCase(code('// one more\nconst a = 1;\n/** `two` is a name. */')), ['one more']);
    assert.deepEqual(
      retiredPhrases(code(`/** Nobody. */ const nobody = 'nobody'; test('for whoever asks it', \`a \${anew} b c\`)`)),
      ['Nobody.', 'for whoever asks it'],
    );
    assert.deepEqual(retiredPhrases({ path: 'a.md', text: 'Nobody\nan attacker' }), ['Nobody']);
    assert.deepEqual(britishSpellings(code('/** Normalises. */\n/** Optimistic. */')), ['Normalises.']);
  });
});
