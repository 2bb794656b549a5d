import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

/**
 * The language of the project: one term for each concept, comments in full sentences. A folder is listed as soon as it
 * follows a rule, and the rule holds from then on.
 */
const ROOT = join(import.meta.dirname, '..');

/** Folders without retired names. */
const NAMES: readonly string[] = [
  'console/cli.ts',
  'console/open.ts',
  'console/tables.ts',
  'console/web/src/api',
  'console/web/src/parts',
  'console/web/src/session',
  'console/web/src/shell',
  'console/wire',
  'scripts',
  'src/background.ts',
  'src/captures',
  'src/config.test.ts',
  'src/config.ts',
  'src/core.ts',
  'src/crypto',
  'src/main.ts',
  'src/proxy',
  'src/tables.test.ts',
  'src/tables.ts',
  'src/version.ts',
  'test/canaries.test.ts',
  'test/child-timeout.ts',
  'test/console-pages.test.ts',
  'test/console-values.test.ts',
  'test/deadline.test.ts',
  'test/deadline.ts',
  'test/docs.test.ts',
  'test/guides.test.ts',
  'test/interop',
  'test/long.ts',
  'test/measure.ts',
  'test/plan.ts',
  'test/postgres.test.ts',
  'test/processors',
  'test/receivers',
  'test/reset.test.ts',
  'test/run.ts',
  'test/scope.ts',
  'test/whole',
];

/** Folders whose comments open with a verb, a noun phrase or an actor. */
const OPENINGS: readonly string[] = [
  'bench',
  'console/cli.ts',
  'console/open.ts',
  'console/people',
  'console/tables.ts',
  'console/web/src/api',
  'console/web/src/pages',
  'console/web/src/parts',
  'console/web/src/session',
  'console/web/src/shell',
  'console/wire',
  'scripts',
  'src/background.ts',
  'src/config.test.ts',
  'src/core.ts',
  'src/main.ts',
  'src/tables.ts',
  'src/version.ts',
  'test/canaries.test.ts',
  'test/child-timeout.ts',
  'test/console-values.test.ts',
  'test/deadline.test.ts',
  'test/deadline.ts',
  'test/docs.test.ts',
  'test/fixtures',
  'test/guides.test.ts',
  'test/interop',
  'test/long.ts',
  'test/measure.ts',
  'test/mutation',
  'test/plan.ts',
  'test/postgres.test.ts',
  'test/reset.test.ts',
  'test/run.ts',
  'test/scope.ts',
  'test/storage',
  'test/whole',
];

/** Folders and documents without the retired phrases. */
const PHRASES: readonly string[] = [
  'README.md',
  'bench',
  'console/open.ts',
  'console/tables.ts',
  'console/web/src/api',
  'console/web/src/pages',
  'console/web/src/parts',
  'console/web/src/shell',
  'docs/architecture.md',
  'docs/chaos.md',
  'docs/decisions',
  'docs/errors.md',
  'docs/interface-map.md',
  'docs/processors',
  'docs/scaling.md',
  'docs/threat-model.md',
  'src/app.ts',
  'src/background.ts',
  'src/config.test.ts',
  'src/core.ts',
  'src/tables.test.ts',
  'src/tables.ts',
  'src/version.ts',
  'test/canaries.test.ts',
  'test/child-timeout.ts',
  'test/contracts',
  'test/deadline.test.ts',
  'test/deadline.ts',
  'test/docs.test.ts',
  'test/guides.test.ts',
  'test/long.ts',
  'test/measure.ts',
  'test/mutation',
  'test/plan.ts',
  'test/reset.test.ts',
  'test/run.ts',
  'test/scope.ts',
];

/** Names that another term has replaced. */
const RETIRED = new Set(
  `
    afterFailure allowanceOf alsoWrites anonymousOrigin Answer answeredWithin answerFor answerOf approvalOr areNeeded
    areOne Asked AskedAmount AskedCall Asker Asking atStatus auditLooksPerPerson AuditReading authorityFileIn
    bareServer beginLook Begun belongTogether bitsOf blamesNumber Books ByHand byTwo callsAtOnce captureByHand
    carriedOut carryOut Chains chainsAnnouncedBy changesOf checkSpan Chore ComparedTable concernsAll Configured
    countDoubtful Counted countedRepeats counterOfDone CyberSourceBooks CyberSourceStandIn decimalOf Deletable
    digestOfHeads doubtfulPayments drawToken dropDraft effectOf Enabling Ending endOfAll endsConnection eraseSensitive
    evenSuspended eventInEach expectsMore exportedRecord failedFor faultAt FiledPayment Filled findCode findingOf
    findLane findNewest findNotified firstFilled firstLines firstLook firstThatReads fitsAccount forgetDeletedTokens
    forgetOld forPeople Gate GivenSettings givenUp giveUp Habits hashAnswer hashesAtOnce headIsSealed Healing
    holdHeads holdsDisguisedPan holdsPan House idsFrom inBin isAboutCommit isBeyondUs isCsrf isDayFull isGivenUp
    isIssued isMarked isOlderThan isOurs isOurTurn isSought isToBeLookedAt isTold isWorthTelling Joined Joining
    joseAnswer journalHeads Judgement keepNotes Kept keptIdentity KeyFault KeyTraits KoinBooks KoinStandIn LateChange
    lateUntil Lifetimes linkAfter linkIsBad linksOf linkUnlessThere listAuditOfService listedDoubts ListingStore
    longBody longExpiry Look lookAtInvitation lookedAt lookedUntil looksInside Made madeBy madeCredential
    makeAuthority makeDraft makeOnce makeRecoveryCodes makeSchema makeSelfSigned makeServerIdentity markJson markOf
    MarkStore markStretch markText markTexts markXml mayBecome mayFit mayHappen mergedToken middleAt Missed
    mixedLinksOf moveDue Movement movementVerdict mustBeAllowed mustBeAt mustBeGoodPassword mustBePlain mustBeReadable
    mustBeReadableIn mustBeThere mustEncrypt mustNotBeSuspended mustStillInvite namesKey Newcomer Newest nextLook
    nextNewsAt noAnswer noRoom noRoomForPeople noteDone noteFailure noteSeen noteUses Observe Obstacle ofEnding
    Offered offeredBy ofMovement ofTenant onceAnswered openIfGenuine openNewest openPeople openSensitive opensInTime
    operateAlone operateOn originOfConsole outcomeCounted overTheLine OwnFactors partInfo Parting partingOf
    passwordForm passwordOf paymentAnswer PeopleHouse PeopleParts Performed Performer phraseFor Piece Place
    placeholderIn placeIn placeOf placeOfKey placesOf PlainAnswer PlainHead PlainRequest processorAnswerBytes
    productionByTwo ProofRefusal Provenance putAttempts putProductionByTwo Questions ReadBy ReadCard readCard
    readCursor Readers readExpiry readHits readNewPasskey readPan readPublicKey readSearch readSignature recallPayment
    refreshTimeline refundByHand refusedForNow refuseIfTakenOver refuseNewer refuseOtherMedia remainsOf Remembered
    rememberedReadings renderOperation Replaceable replaceMarks resetFits resetPersonOf roomForKey rowsPerLook saidAs
    sameEmailForm sealOfKey Securing Seen seenEntries seenFree sendInPieces SentElement serviceServer
    setProductionByTwo settingsInForce settingsTable SettledAs shortExpiry shortUserAgent ShownActivation ShownSetting
    shownSettings showTeamOf softVerdict spendFactor spendInvitation Standing standingOf startHouse startScreen
    stepCounted Streamed Stretch takeIntoUse Tally tlsOf tokenDraws tokensMarkedPerRound Told toldFrom toldOf
    TotalsOfTenant TrialMeans Tried truncateDisguisedPansIn tryOut turnToLook typedSettings typedTime UnderWay Undoing
    unknownOrigin untilSettled useByTwo usedCredential useHeldPage useLookAgain useShown Vitals voidAgain voidByHand
    waitingApprovals waitingCallCharacters waitingHashes waitingUnits Walked Wanted wasJustUsed whenThere whoIs whyNot
    wirePayments withLikeSeparatorsDashed withUnseenShown wordAbout wordsIn writeCursor wrongUse wssecAnswer
`
    .trim()
    .split(/\s+/),
);

const OPENING = /^(Of|What|Whoever|Who|That|Those|All that|Whether|Also|Beside|As|Then)\b/;
const PHRASE =
  /\b(whoever|somebody|nobody|anybody|of late|as good as|stands otherwise|given up|looked at|in the books)\b/i;

interface TextFile {
  readonly path: string;
  readonly text: string;
}

const listFiles = (place: string): TextFile[] =>
  globSync([place, `${place}/**/*`], { cwd: ROOT })
    .filter((path) => /\.(ts|tsx|sql|md)$/.test(path) && !path.endsWith('language.test.ts'))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

/** Returns the text of each comment. Lines that follow one another are one comment. */
function listComments(text: string): string[] {
  const pattern = /\/\*\*?([\s\S]*?)\*\/|(?:^[ \t]*(?:\/\/|--)[^\n]*\n)+|[ \t]\/\/ [^\n]*/gm;
  return [...text.matchAll(pattern)].map(([comment]) =>
    comment
      .replace(/^[ \t]*(\/\*\*?|\*\/|\*|\/\/|--)[ \t]*/gm, '')
      .replace(/\*\/$/, '')
      .trim(),
  );
}

const withoutStrings = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, ' ').replace(/\/\/[^\n]*|'[^'\n]*'|"[^"\n]*"/g, ' ');

const retiredNames = (text: string): string[] =>
  [...new Set(withoutStrings(text).match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? [])].filter((name) => RETIRED.has(name));
const retiredOpenings = (text: string): string[] => listComments(text).filter((comment) => OPENING.test(comment));
const retiredPhrases = (text: string): string[] => text.split('\n').filter((line) => PHRASE.test(line));

describe('the language of the project', () => {
  for (const [rule, places, find] of [
    ['no retired name', NAMES, retiredNames],
    ['no comment that opens with a fragment', OPENINGS, retiredOpenings],
    ['no retired phrase', PHRASES, retiredPhrases],
  ] as const)
    for (const place of places)
      test(`${place}: ${rule}`, () => {
        const files = listFiles(place);
        assert.ok(files.length > 0, `${place} has no files; remove it from the list`);
        const found = files.flatMap(({ path, text }) => find(text).map((each) => `${path}: ${each}`));
        assert.equal(found.join('\n'), '');
      });

  test('finds what it forbids', () => {
    assert.deepEqual(retiredNames("const kept: House = of('Kept'); // Told"), ['House']);
    assert.deepEqual(
      retiredOpenings('/** What it is. */\n// Also this\n// one\nconst a = 1; // That\n/** Returns. */'),
      ['What it is.', 'Also this\none', 'That'],
    );
    assert.deepEqual(retiredPhrases('Nobody\nan attacker'), ['Nobody']);
  });
});
