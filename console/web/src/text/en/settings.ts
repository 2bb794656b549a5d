export const settings = {
  title: 'Settings',
  description: 'Security settings of this account.',
  dualControl: {
    title: 'Two-person approval',
    text: 'One user requests a change in production, another user approves it, then the first executes it. One mistake or one stolen sign-in cannot change production.',
    on: 'On',
    off: 'Off',
    covers: 'Applies to',
    list: {
      keys: 'Creating, changing and rotating API keys',
      payments: 'Manual captures, refunds and voids',
      proxy: 'Keys and settings of the payload proxy',
      tokens: 'Deleting tokens',
      team: 'Inviting users, changing roles and resetting sign-ins',
      operator: 'Processor and proxy settings that an operator changes, also from the command line',
      settings: 'Turning off two-person approval',
    },
    never:
      'Revoking API keys and removing users need no approval, because leaked access has to be stopped immediately. API calls of your software need no approval either.',
    needsTwo: 'At least two users must be able to approve. Invite another user first.',
    toTeam: 'Go to the team',
    turnOn: 'Require two-person approval',
    turnOff: 'Turn off two-person approval',
    confirmOn:
      'Changes in production then wait until a second person approves them. Check the team first: every owner and developer can approve. Pending invitation links are revoked.',
    confirmOff: 'A second person has to approve this, like every change in production.',
    doneOn: 'Two-person approval is on.',
    doneOff: 'Two-person approval is off.',
    ownerOnly: 'Only owners can change this.',
  },
};
